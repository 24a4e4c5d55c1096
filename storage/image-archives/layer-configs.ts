import { createHash } from 'node:crypto';
import { goJson } from '../image/go-json.ts';
import { asObject, optional, parseJson, type JsonObject } from '../image/json.ts';

/** Fields of a container's configuration in the order of Go's struct, with what stands for an absent one. */
const RUN_FIELDS: readonly [key: string, absent: unknown][] = [
  ['Hostname', ''],
  ['Domainname', ''],
  ['User', ''],
  ['AttachStdin', false],
  ['AttachStdout', false],
  ['AttachStderr', false],
  ['ExposedPorts', undefined],
  ['Tty', false],
  ['OpenStdin', false],
  ['StdinOnce', false],
  ['Env', null],
  ['Cmd', null],
  ['Healthcheck', undefined],
  ['ArgsEscaped', undefined],
  ['Image', ''],
  ['Volumes', null],
  ['WorkingDir', ''],
  ['Entrypoint', null],
  ['NetworkDisabled', undefined],
  ['MacAddress', undefined],
  ['OnBuild', null],
  ['Labels', null],
  ['StopSignal', undefined],
  ['StopTimeout', undefined],
  ['Shell', undefined],
];
const HEALTH_FIELDS = ['Test', 'Interval', 'Timeout', 'StartPeriod', 'StartInterval', 'Retries'] as const;
/** Go writes their keys in order. */
const MAPS = new Set(['ExposedPorts', 'Volumes', 'Labels']);
/** Pointers in Go: left out only where they are absent. */
const POINTERS = new Set(['Healthcheck', 'StopTimeout']);
const EPOCH = '1970-01-01T00:00:00Z';

/**
 * The configurations of an image's layers, bottom first, as docker before 1.10 had them: an id of its own for each, the
 * one below, and in the top one how the image runs. Byte for byte what moby 26 saves beside an image
 * (image/v1.CreateID, image/tarexport). Pure.
 */
export function layerConfigs(image: Buffer, chainIds: readonly string[]): Buffer[] {
  const root = asObject(parseJson(image, 'the image'), 'the image');
  const os = text(root, 'os');
  let parent: string | undefined;
  return chainIds.map((chainId, index) => {
    const isTop = index === chainIds.length - 1;
    const config = isTop ? topConfig(root) : { created: EPOCH, container_config: runConfig({}) };
    const id = idOf(config, chainId, parent);
    const below = parent === undefined ? {} : { parent };
    parent = id;
    return Buffer.from(goJson({ id, ...below, ...config, ...os }));
  });
}

/** A digest without its algorithm, of the configuration with what the layer is. */
function idOf(config: JsonObject, chainId: string, parent: string | undefined): string {
  const named = {
    ...config,
    layer_id: chainId,
    ...(parent === undefined ? {} : { parent: `sha256:${parent}` }),
  };
  return createHash('sha256')
    .update(goJson(sorted(named)))
    .digest('hex');
}

function topConfig(root: JsonObject): JsonObject {
  const container = optional(root['container_config'], 'container_config', asObject) ?? {};
  const config = optional(root['config'], 'config', asObject);
  return {
    ...text(root, 'comment'),
    created: root['created'] ?? null,
    ...text(root, 'container'),
    container_config: runConfig(container),
    ...text(root, 'docker_version'),
    ...text(root, 'author'),
    ...(config === undefined ? {} : { config: runConfig(config) }),
    ...text(root, 'architecture'),
    ...text(root, 'variant'),
    ...text(root, 'os'),
  };
}

function runConfig(config: JsonObject): JsonObject {
  return Object.fromEntries(
    RUN_FIELDS.flatMap(([key, absent]) => {
      const value = config[key] ?? absent;
      if (value === undefined || (absent === undefined && !POINTERS.has(key) && isEmpty(value))) {
        return [];
      }
      if (key === 'Healthcheck') {
        return [[key, healthcheck(asObject(value, key))]];
      }
      return [[key, MAPS.has(key) && value !== null ? sorted(asObject(value, key)) : value]];
    }),
  );
}

function healthcheck(check: JsonObject): JsonObject {
  return Object.fromEntries(
    HEALTH_FIELDS.filter((key) => !isEmpty(check[key] ?? 0)).map((key) => [key, check[key]]),
  );
}

/** What Go's `omitempty` leaves out. */
function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null ? Object.keys(value).length === 0 : !value;
}

/** The property, where it says something. */
function text(root: JsonObject, key: string): JsonObject {
  return root[key] === undefined || root[key] === null || root[key] === '' ? {} : { [key]: root[key] };
}

function sorted(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
