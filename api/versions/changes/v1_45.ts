import { change } from '../change.ts';
import { editAt, editEach, isObject, objectAt } from '../json.ts';
import type { JsonObject } from '../json.ts';

const SHORT_ID_LENGTH = 12;
/** Networks without names. */
const BUILT_IN_NETWORKS: ReadonlySet<string> = new Set(['bridge', 'host', 'none']);
/** Go's zero time: a container that has never run. */
const NEVER = '0001-01-01T00:00:00Z';

const aliases = change({
  id: 'endpoint-aliases',
  since: 45,
  routes: ['container.inspect'],
  description:
    'Aliases of an endpoint are those that were asked for (with the short id of a container that has run before).',
  response: (body) =>
    objectAt(body, 'State')?.['StartedAt'] === NEVER ? body : editAt(body, [], withShortId),
});

const aliasesInList = change({
  id: 'endpoint-aliases-in-list',
  since: 45,
  routes: ['container.list'],
  description: 'So are Aliases of listed containers.',
  response: (body) => editEach(body, listedWithShortId),
});

const aliasesInDiskUsage = change({
  id: 'endpoint-aliases-in-disk-usage',
  since: 45,
  routes: ['system.diskUsage'],
  description: 'So are Aliases of the containers of GET /system/df.',
  response: (body) =>
    editAt(body, [], (usage) => ({ ...usage, Containers: editEach(usage['Containers'], listedWithShortId) })),
});

function listedWithShortId(container: JsonObject): JsonObject {
  return container['State'] === 'created' ? container : withShortId(container);
}

/** docker-compose 1 connects a container anew where its short id is missing. */
function withShortId(container: JsonObject): JsonObject {
  const shortId = String(container['Id']).slice(0, SHORT_ID_LENGTH);
  const networks = Object.entries(objectAt(container, 'NetworkSettings', 'Networks') ?? {});
  const named = networks.map(([name, endpoint]) => {
    if (!isObject(endpoint) || BUILT_IN_NETWORKS.has(name)) {
      return [name, endpoint];
    }
    const own: unknown[] = Array.isArray(endpoint['Aliases']) ? endpoint['Aliases'] : [];
    return [name, { ...endpoint, Aliases: own.includes(shortId) ? own : [...own, shortId] }];
  });
  return networks.length === 0
    ? container
    : {
        ...container,
        NetworkSettings: { ...objectAt(container, 'NetworkSettings'), Networks: Object.fromEntries(named) },
      };
}

const imageContainer = change({
  id: 'image-container',
  since: 45,
  routes: ['image.inspect'],
  description: 'Images no longer tell Container and ContainerConfig.',
  response: (body, legacy) =>
    editAt(body, [], (image) => ({
      ...image,
      Container: objectAt(legacy)?.['Container'] ?? '',
      ContainerConfig: objectAt(legacy)?.['ContainerConfig'] ?? null,
    })),
});

export const changes = [aliases, aliasesInList, aliasesInDiskUsage, imageContainer];
