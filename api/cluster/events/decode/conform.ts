import { invalidArgument, unreachable } from '../../../../daemon/base/errors.ts';
import type { FieldType, Fields } from './schema.ts';

/** An object as a kind has it: unknown fields and nulls left out, times in one form. */
export interface Conformed {
  value: Record<string, unknown>;
  /** `spec.foo` */
  unknown: string[];
}

const INT32_MAX = 2 ** 31 - 1;

/** Throws invalid_argument for a value of another type, in the words of Go's decoder. */
export function conform(body: unknown, { title, fields }: { title: string; fields: Fields }): Conformed {
  const unknown: string[] = [];
  const value = conformObject(body, fields, { path: '', title, unknown });
  return { value, unknown };
}

interface Place {
  path: string;
  /** Of the whole. */
  title: string;
  unknown: string[];
}

function conformObject(body: unknown, fields: Fields, place: Place): Record<string, unknown> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw wrongType(body, 'object', place);
  }
  const value: Record<string, unknown> = {};
  for (const [name, given] of Object.entries(body)) {
    const path = place.path === '' ? name : `${place.path}.${name}`;
    const type = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (type === undefined) {
      place.unknown.push(path);
    } else if (given !== null && given !== undefined) {
      value[name] = conformField(given, type, { ...place, path });
    }
  }
  return value;
}

function conformField(given: unknown, type: FieldType, place: Place): unknown {
  switch (type.kind) {
    case 'any':
      return given;
    case 'string':
      return expect(typeof given === 'string', given, 'string', place);
    case 'boolean':
      return expect(typeof given === 'boolean', given, 'bool', place);
    case 'int32':
      return expect(Number.isInteger(given) && Math.abs(Number(given)) <= INT32_MAX, given, 'int32', place);
    case 'int64':
      return expect(Number.isSafeInteger(given), given, 'int64', place);
    case 'time':
    case 'microtime':
      return timeOf(given, type.kind, place);
    case 'map':
      return conformMap(given, place);
    case 'list': {
      if (!Array.isArray(given)) {
        throw wrongType(given, 'array', place);
      }
      return given.map((item: unknown, index) =>
        conformField(item, type.of, { ...place, path: `${place.path}[${index}]` }),
      );
    }
    case 'object':
      return conformObject(given, type.fields, place);
    default:
      return unreachable(type);
  }
}

function conformMap(given: unknown, place: Place): Record<string, string> {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw wrongType(given, 'map[string]string', place);
  }
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => {
      expect(typeof value === 'string' || value === null, value, 'string', {
        ...place,
        path: `${place.path}.${name}`,
      });
      return [name, String(value ?? '')];
    }),
  );
}

function expect<T>(isRight: boolean, given: T, type: string, place: Place): T {
  if (!isRight) {
    throw wrongType(given, type, place);
  }
  return given;
}

function wrongType(given: unknown, type: string, { path, title }: Place): Error {
  const is = Array.isArray(given) ? 'array' : given === null ? 'null' : typeof given;
  const where = path === '' ? title : `${title}.${path}`;
  return invalidArgument(
    `${title} in version "v1" cannot be handled as a ${title}: json: cannot unmarshal ${is} into Go struct field ` +
      `${where} of type ${type}`,
    { details: { reason: 'BadRequest' } },
  );
}

const TIME = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/;

/** RFC 3339 in UTC: with microseconds or in whole seconds. */
function timeOf(given: unknown, kind: 'time' | 'microtime', { title }: Place): string {
  const [, second = '', fraction = '', zone = ''] = TIME.exec(String(given)) ?? [];
  const millis = typeof given === 'string' ? Date.parse(second + zone) : NaN;
  if (Number.isNaN(millis)) {
    throw invalidArgument(
      `${title} in version "v1" cannot be handled as a ${title}: parsing time ${JSON.stringify(given)} as ` +
        '"2006-01-02T15:04:05.000000Z07:00": cannot parse it',
      { details: { reason: 'BadRequest' } },
    );
  }
  const seconds = new Date(millis).toISOString().slice(0, 19);
  return kind === 'time' ? `${seconds}Z` : `${seconds}.${fraction.padEnd(6, '0').slice(0, 6)}Z`;
}
