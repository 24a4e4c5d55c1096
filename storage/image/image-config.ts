import { parseRfc3339Nano } from '../../daemon/base/clock.ts';
import { limits } from '../../daemon/base/limits.ts';
import {
  asArray,
  asBoolean,
  asCount,
  asDigest,
  asObject,
  asString,
  asStringMap,
  asStrings,
  optional,
  parseJson,
  wrong,
  type JsonObject,
} from './json.ts';

/** One step of an image's making (OCI image specification, "history"). */
export interface HistoryEntry {
  created?: string;
  createdBy: string;
  author?: string;
  comment: string;
  emptyLayer: boolean;
}

/**
 * An image's configuration, checked: what the engine reads of it. The bytes it came as stay with the image, because
 * their digest is its id.
 */
export interface ImageConfig {
  os: string;
  architecture: string;
  variant: string;
  osVersion: string;
  created: string | undefined;
  author: string;
  comment: string;
  dockerVersion: string;
  container: string;
  parent: string;
  /** How a container of it runs; field types checked, unknown fields kept. */
  config: JsonObject;
  containerConfig: JsonObject | undefined;
  /** Bottom first. */
  diffIds: string[];
  /** Oldest first. */
  history: HistoryEntry[];
}

/** Throws EngineError invalid_argument naming the field. `anySystem`: of files that nobody runs here. */
export function parseImageConfig(
  bytes: Buffer,
  where: string,
  { anySystem }: { anySystem: boolean } = { anySystem: false },
): ImageConfig {
  if (bytes.length > limits.imageConfigBytesMax) {
    throw wrong(where, `larger than ${limits.imageConfigBytesMax} bytes`);
  }
  const root = asObject(parseJson(bytes, where), where);
  const text = (key: string): string => optional(root[key], `${where}.${key}`, asString) ?? '';
  const rootfs = asObject(root['rootfs'], `${where}.rootfs`);
  if (rootfs['type'] !== 'layers') {
    throw wrong(`${where}.rootfs.type`, 'not "layers"');
  }
  const diffIds = optional(rootfs['diff_ids'], `${where}.rootfs.diff_ids`, asArray) ?? [];
  if (diffIds.length > limits.imageLayersMax) {
    throw wrong(`${where}.rootfs.diff_ids`, `more than ${limits.imageLayersMax} layers`);
  }
  const history = optional(root['history'], `${where}.history`, asArray) ?? [];
  const image: ImageConfig = {
    os: text('os') || 'linux',
    architecture: text('architecture'),
    variant: text('variant'),
    osVersion: text('os.version'),
    created: optional(root['created'], `${where}.created`, asTime),
    author: text('author'),
    comment: text('comment'),
    dockerVersion: text('docker_version'),
    container: text('container'),
    parent: text('parent'),
    config: optional(root['config'], `${where}.config`, asRunConfig) ?? {},
    containerConfig: optional(root['container_config'], `${where}.container_config`, asRunConfig),
    diffIds: diffIds.map((item, index) => asDigest(item, `${where}.rootfs.diff_ids[${index}]`)),
    history: history.map((item, index) => asHistory(item, `${where}.history[${index}]`)),
  };
  if (image.os !== 'linux' && !anySystem) {
    throw wrong(
      `${where}.os`,
      `image operating system ${JSON.stringify(image.os)} cannot be used on this platform`,
    );
  }
  if (image.history.filter((entry) => !entry.emptyLayer).length > image.diffIds.length) {
    throw wrong(`${where}.history`, 'too many non-empty layers in History section');
  }
  return image;
}

type FieldReader = (value: unknown, where: string) => unknown;

/** Types of the fields that a container takes over from its image; null stands for absent everywhere. */
const RUN_FIELDS: Readonly<Record<string, FieldReader>> = {
  Hostname: asString,
  Domainname: asString,
  User: asString,
  AttachStdin: asBoolean,
  AttachStdout: asBoolean,
  AttachStderr: asBoolean,
  ExposedPorts: asEmptyObjects,
  Tty: asBoolean,
  OpenStdin: asBoolean,
  StdinOnce: asBoolean,
  Env: asStrings,
  Cmd: asStrings,
  Healthcheck: asHealthcheck,
  ArgsEscaped: asBoolean,
  Image: asString,
  Volumes: asEmptyObjects,
  WorkingDir: asString,
  Entrypoint: asStrings,
  OnBuild: asStrings,
  Labels: asStringMap,
  StopSignal: asString,
  StopTimeout: asCount,
  Shell: asStrings,
};

function asRunConfig(value: unknown, where: string): JsonObject {
  const config = asObject(value, where);
  for (const [key, read] of Object.entries(RUN_FIELDS)) {
    optional(config[key], `${where}.${key}`, read);
  }
  return config;
}

/** `{"80/tcp": {}}`; the inner objects are empty by definition; their content means nothing. */
function asEmptyObjects(value: unknown, where: string): JsonObject {
  return asObject(value, where);
}

function asHealthcheck(value: unknown, where: string): JsonObject {
  const check = asObject(value, where);
  optional(check['Test'], `${where}.Test`, asStrings);
  for (const key of ['Interval', 'Timeout', 'StartPeriod', 'StartInterval', 'Retries']) {
    optional(check[key], `${where}.${key}`, asCount);
  }
  return check;
}

function asHistory(value: unknown, where: string): HistoryEntry {
  const entry = asObject(value, where);
  const created = optional(entry['created'], `${where}.created`, asTime);
  const author = optional(entry['author'], `${where}.author`, asString);
  return {
    ...(created === undefined ? {} : { created }),
    ...(author === undefined ? {} : { author }),
    createdBy: optional(entry['created_by'], `${where}.created_by`, asString) ?? '',
    comment: optional(entry['comment'], `${where}.comment`, asString) ?? '',
    emptyLayer: optional(entry['empty_layer'], `${where}.empty_layer`, asBoolean) ?? false,
  };
}

/** RFC 3339. */
function asTime(value: unknown, where: string): string {
  const text = asString(value, where);
  try {
    parseRfc3339Nano(text);
  } catch {
    // A RangeError that quotes all of it.
    throw wrong(where, `not a time: ${JSON.stringify(text.slice(0, 60))}`);
  }
  return text;
}
