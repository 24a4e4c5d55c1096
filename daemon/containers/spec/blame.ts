import type { ContainerCreateRequest, ContainerUpdateRequest } from '../../../api/types/container.ts';
import { EngineError, errorText, isEngineError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';

/** Enough of a value to recognise it. */
const SHOWN_LENGTH_MAX = 120;
/** Holds passwords of its other entries too; the texts about it name the wrong one themselves. */
const NEVER_SHOWN = 'Env';

/** Of create, or of update, whose fields stand beside each other. */
type Request = ContainerCreateRequest | ContainerUpdateRequest;

interface Field<R> {
  /** `HostConfig.Memory` */
  path: string;
  value: unknown;
  without: R;
}

/**
 * Runs `attempt`; a refusal whose text (dockerd's, mostly) does not tell which fields are wrong gets them appended with
 * their values: those without which the same request is not refused so. `attempt` must be pure.
 */
export function namingFields<R extends Request, T>(request: R, attempt: (request: R) => T): T {
  try {
    return attempt(request);
  } catch (error) {
    if (!isEngineError(error, 'invalid_argument')) {
      throw error;
    }
    const involved = fieldsOf(request)
      .slice(0, limits.blamedFieldsMax)
      .filter(({ without }) => refusalOf(attempt, without) !== error.message);
    const unnamed = involved.filter((field) => !isNamed(field, error.message));
    if (unnamed.length === 0) {
      throw error;
    }
    const { code, details, message } = error;
    throw new EngineError(code, `${message} (${unnamed.map(shown).join(', ')})`, { cause: error, details });
  }
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

function refusalOf<R>(attempt: (request: R) => unknown, request: R): string {
  try {
    attempt(request);
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

function shown({ path, value }: Field<unknown>): string {
  const text = JSON.stringify(value) ?? '';
  return path === NEVER_SHOWN ? path : `${path}: ${text.slice(0, SHOWN_LENGTH_MAX)}`;
}
