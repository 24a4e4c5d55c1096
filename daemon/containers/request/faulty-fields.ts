import type { ContainerCreateRequest, ContainerUpdateRequest } from '../../../api/types/container.ts';
import { EngineError, errorText, isEngineError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { ContainerSpec } from './container-spec.ts';

/** Enough of a value to recognise it. */
const SHOWN_LENGTH_MAX = 120;
/** People keep passwords there, also in the entries that are not wrong: only the field is named. */
const NEVER_SHOWN: ReadonlySet<string> = new Set([
  'Cmd',
  'Entrypoint',
  'Env',
  'Healthcheck',
  'Labels',
  'Shell',
  'HostConfig.Annotations',
  'HostConfig.DeviceRequests',
  'HostConfig.LogConfig',
  'HostConfig.Mounts',
]);

/** Of create, or of update, whose fields stand beside each other. */
type Request = ContainerCreateRequest | ContainerUpdateRequest;

interface Field<R> {
  /** `HostConfig.Memory` */
  path: string;
  value: unknown;
  without: R;
}

/**
 * Runs `build`; a refusal whose text (dockerd's, mostly) does not tell which fields are wrong gets them appended with
 * their values, as far as those may be shown. `build` must be pure.
 */
export function namingFields<R extends Request, T>(request: R, build: (request: R) => T): T {
  try {
    return build(request);
  } catch (error) {
    if (!isEngineError(error, 'invalid_argument')) {
      throw error;
    }
    const involved = faultyFields(request, build, error.message);
    const unnamed = involved.filter((field) => !isNamed(field, error.message));
    if (unnamed.length === 0) {
      throw error;
    }
    const { code, details, message } = error;
    throw new EngineError(code, `${message} (${unnamed.map(shown).join(', ')})`, { cause: error, details });
  }
}

/**
 * Fields that `refusal` is about. Without one of them the request is accepted, or, when there is a second mistake,
 * refused for that. A field that others need (Cmd, where the image has none) also changes the refusal when it goes; the
 * new one is then of its absence: it is heard without the real culprit too, and not while the field is there.
 */
function faultyFields<R extends Request>(
  request: R,
  build: (request: R) => unknown,
  refusal: string,
): Field<R>[] {
  const suspects = fieldsOf(request)
    .slice(0, limits.faultyFieldsMax)
    .map((field) => ({ ...field, otherwise: refusalOf(build, field.without) }))
    .filter(({ otherwise }) => otherwise !== refusal);
  const sure = suspects.filter(({ otherwise }) => otherwise === '');
  return sure.length > 0
    ? sure
    : suspects.filter(
        (suspect) =>
          !suspects.some(
            (other) =>
              other !== suspect &&
              other.otherwise !== suspect.otherwise &&
              refusalOf(build, withoutBoth(suspect, other)) === suspect.otherwise,
          ),
      );
}

function withoutBoth<R extends Request>(one: Field<R>, other: Field<R>): R {
  const field = fieldsOf(one.without).find(({ path }) => path === other.path);
  return field?.without ?? one.without;
}

/** Fields with a value, those of HostConfig one by one. */
function fieldsOf<R extends Request>(request: R): Field<R>[] {
  const host = 'HostConfig' in request ? (request.HostConfig ?? {}) : {};
  const own = Object.entries(request)
    .filter(([name]) => name !== 'HostConfig')
    .map(([name, value]) => ({ path: name, value, without: omit(request, name) }));
  const ofHost = Object.entries(host).map(([name, value]) => ({
    path: `HostConfig.${name}`,
    value,
    without: { ...request, HostConfig: omit(host, name) },
  }));
  return [...own, ...ofHost].filter(({ value }) => !isUnset(value));
}

function omit<T extends object>(object: T, name: string): T {
  const rest = { ...object };
  Reflect.deleteProperty(rest, name);
  return rest;
}

/** What clients send for "nothing". An empty list says something only where it empties the image's. */
function isUnset(value: unknown): boolean {
  return value === null || value === undefined || value === '' || value === false || value === 0;
}

function refusalOf<R>(build: (request: R) => unknown, request: R): string {
  try {
    build(request);
    return '';
  } catch (error) {
    return errorText(error);
  }
}

function isNamed({ path, value }: Field<unknown>, message: string): boolean {
  const name = path.slice(path.lastIndexOf('.') + 1);
  return message.includes(name) && leaves(value).some((leaf) => leaf !== '' && message.includes(leaf));
}

function leaves(value: unknown): string[] {
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(leaves) : [String(value)];
}

function shown({ path, value }: Pick<Field<unknown>, 'path' | 'value'>): string {
  if (NEVER_SHOWN.has(path)) {
    return path;
  }
  const text = JSON.stringify(value) ?? '';
  return `${path}: ${text.length > SHOWN_LENGTH_MAX ? `${text.slice(0, SHOWN_LENGTH_MAX)}...` : text}`;
}

/** What a start says is wrong, and the field of the request that it comes from. */
const SEEN_AT_START: readonly {
  pattern: RegExp;
  field: (spec: ContainerSpec, match: RegExpExecArray) => string | undefined;
}[] = [
  {
    pattern: /\/proc\/sys\/([^\s:]+)/,
    field: ({ hostConfig }, [, path = '']) => {
      const [name, value] =
        Object.entries(hostConfig.Sysctls ?? {}).find(
          ([key]) => key.replaceAll('.', '/') === path.replaceAll('.', '/'),
        ) ?? [];
      return name === undefined ? undefined : `HostConfig.Sysctls: ${name}=${value}`;
    },
  },
  { pattern: /adding custom device "(.*?)"/, field: (_, [, path]) => `HostConfig.Devices: ${path}` },
  {
    pattern: /external connectivity/,
    field: ({ hostConfig }) => shown({ path: 'HostConfig.PortBindings', value: hostConfig.PortBindings }),
  },
  {
    pattern: /initialize logging driver/,
    field: ({ hostConfig: { LogConfig } }) => {
      const receiver = Object.entries(LogConfig.Config).filter(([key]) => RECEIVER.test(key));
      const options = receiver.map(([key, value]) => ` ${key}=${value}`).join('');
      return `HostConfig.LogConfig: ${LogConfig.Type}${options}`;
    },
  },
];
/** Options of log drivers that say where messages go; others may be secret. */
const RECEIVER = /-(?:address|region|group)$/;

/** An error of a start that could not be seen at create, with the field that it comes from where that is known. */
export function namedAtStart(spec: ContainerSpec, error: EngineError): EngineError {
  for (const { pattern, field } of SEEN_AT_START) {
    const match = pattern.exec(error.message);
    const named = match && field(spec, match);
    if (named) {
      const { code, details, message } = error;
      return new EngineError(code, `${message} (${named})`, { cause: error, details });
    }
  }
  return error;
}
