import { invalidArgument } from '../../daemon/base/errors.ts';
import { filterBool } from '../../daemon/base/filters.ts';
import { authSchema } from '../schemas/others.ts';
import type { AuthRequest } from '../types/system.ts';
import { ok, route } from './route.ts';
import type { EventsType, ServedRoute } from './route.ts';
import type { Query } from '../query.ts';
import type { DiskUsageType, LegacyInfo, SystemInfo } from '../types/system.ts';
import { usageByKind } from './usage-by-kind.ts';
import { defined, wallNano } from './values.ts';

/** The daemon itself (docs: api/docs/v1.24.md section 3.3). */
export const systemRoutes: readonly ServedRoute[] = [
  route({
    id: 'system.ping',
    method: 'GET',
    path: '/_ping',
    handler: (_request, { swarm }) => Promise.resolve({ kind: 'pong', swarm: swarm.role }),
  }),
  route({
    id: 'system.pingHead',
    method: 'HEAD',
    path: '/_ping',
    handler: (_request, { swarm }) => Promise.resolve({ kind: 'pong', swarm: swarm.role }),
  }),
  route({
    id: 'system.info',
    method: 'GET',
    path: '/info',
    handler: async (_request, { system, swarm }) => {
      const [told, Swarm] = await Promise.all([system.info(), swarm.info()]);
      const { BridgeNfIptables, BridgeNfIp6tables, ...engine } = told;
      const legacy: LegacyInfo = { BridgeNfIptables, BridgeNfIp6tables };
      return ok({ ...engine, Swarm } satisfies SystemInfo, legacy);
    },
  }),
  route({
    id: 'system.version',
    method: 'GET',
    path: '/version',
    handler: async (_request, { system }) => ok(await system.version()),
  }),
  route<AuthRequest>({
    id: 'system.auth',
    method: 'POST',
    path: '/auth',
    body: { kind: 'json', schema: authSchema, empty: 'refused' },
    handler: async ({ body, signal }, { registries }) => ok(await registries.login(body, signal)),
  }),
  route({
    id: 'system.diskUsage',
    method: 'GET',
    path: '/system/df',
    handler: async ({ query }, { system }) => {
      const isVerbose = query.bool('verbose');
      const usage = await system.diskUsage(diskUsageTypes(query));
      // Who does not ask for more may be a client that knows no versions: dockerd 29 tells it both, too.
      return ok({ ...(!isVerbose && usage), ...usageByKind(usage, isVerbose) });
    },
  }),
  route({
    id: 'plugin.list',
    method: 'GET',
    path: '/plugins',
    partly: 'no plugin is ever installed, the list is empty',
    handler: ({ query }) => {
      refuseFilters(query, ['enabled', 'capability']);
      const enabled = query.filters().get('enabled') ?? [];
      if (enabled.length > 0) {
        filterBool('enabled', enabled);
      }
      return Promise.resolve(ok([]));
    },
  }),
  route({
    id: 'system.events',
    method: 'GET',
    path: '/events',
    handler: async ({ query, header, signal, speaks }, { events }) => {
      const now = wallNano();
      const since = query.time('since', now);
      const until = query.time('until', now);
      if (since !== undefined && until !== undefined && since > until) {
        throw invalidArgument(
          `\`since\` time (${query.text('since')}) cannot be after \`until\` time (${query.text('until')})`,
        );
      }
      const options = { ...defined({ since, until }), filters: query.filters(), signal };
      const contentType = speaks('events-are-json-lines') ? eventsType(header('accept')) : 'application/json';
      return { kind: 'events', events: events.stream(options), contentType };
    },
  }),
];

function refuseFilters(query: Query, known: readonly string[]): void {
  const wrong = [...query.filters().keys()].find((name) => !known.includes(name));
  if (wrong !== undefined) {
    throw invalidArgument(`invalid filter '${wrong}'`);
  }
}

const DISK_USAGE_TYPES: readonly DiskUsageType[] = ['container', 'image', 'volume', 'build-cache'];

/** None asked for are all. */
function diskUsageTypes(query: Query): ReadonlySet<DiskUsageType> {
  const asked = query.texts('type').map((text) => {
    const type = DISK_USAGE_TYPES.find((known) => known === text);
    if (type === undefined) {
      throw invalidArgument(`unknown object type: ${text}`);
    }
    return type;
  });
  return new Set(asked.length === 0 ? DISK_USAGE_TYPES : asked);
}

/** How events may be separated: the first is what a client gets that does not choose. */
const EVENT_TYPES: readonly EventsType[] = [
  'application/jsonl',
  'application/x-ndjson',
  'application/json-seq',
];

/** The first of these types that an Accept header names by its full name. */
function eventsType(accept = ''): EventsType {
  const named = new Set(accept.split(',').map((part) => part.split(';')[0]?.trim().toLowerCase()));
  return EVENT_TYPES.find((type) => named.has(type)) ?? 'application/jsonl';
}
