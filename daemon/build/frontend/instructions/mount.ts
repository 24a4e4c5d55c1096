import { invalidArgument } from '../../../base/errors.ts';
import { csvFields } from '../../../base/go/csv-fields.ts';
import { parseBool, parseSize, SIZE } from '../../../base/go/values.ts';
import { closest } from '../../../base/dockerfile/closest.ts';
import { oneOf } from './read-run.ts';

/** `--mount` of RUN, its values expanded. */
export interface Mount {
  type: MountType;
  from: string;
  source: string;
  target: string;
  isReadOnly: boolean;
  sizeBytes?: number;
  id: string;
  sharing: 'shared' | 'private' | 'locked';
  isRequired: boolean;
  /** Name of a variable; `''` = the id's. */
  env?: string;
  mode?: number;
  uid?: number;
  gid?: number;
}

const TYPES = ['bind', 'cache', 'tmpfs', 'secret', 'ssh'] as const;
type MountType = (typeof TYPES)[number];

const ALIASES: Readonly<Record<string, string>> = {
  src: 'source',
  dst: 'target',
  destination: 'target',
  ro: 'readonly',
  rw: 'readwrite',
};
const KEYS = 'type from source target readonly readwrite id sharing required size mode uid gid env'.split(
  ' ',
);

/** The stage or image that a mount comes from, before anything is built; `''` = none. Throws invalid_argument. Pure. */
export function mountSource(text: string): string {
  const from = fieldsOf(text).findLast(({ key }) => key === 'from')?.value ?? '';
  if (/\$./.test(from)) {
    throw invalidArgument("'from' doesn't support variable expansion, define alias stage instead");
  }
  return from;
}

/** Reads a mount. `expand` is asked for each value. Throws invalid_argument naming key and value. Pure. */
export function readMount(text: string, expand: (value: string) => string): Mount {
  const values = new Map<string, string>();
  for (const { field, key, value } of fieldsOf(text)) {
    if (!KEYS.includes(key)) {
      const meant = closest(key, KEYS);
      const hint = meant === undefined ? '' : ` (did you mean ${meant}?)`;
      throw invalidArgument(`unexpected key '${key}' in '${field}'${hint}`);
    }
    if (value === undefined && !['readonly', 'readwrite', 'required'].includes(key)) {
      throw invalidArgument(`invalid field '${field}' must be a key=value pair`);
    }
    // Which of `ro` and `rw` comes last counts.
    values.delete(key);
    values.set(key, value === undefined ? 'true' : expand(value));
  }
  const type = oneOf('mount type', (values.get('type') ?? 'bind').toLowerCase(), TYPES);
  refuseForeign(type, values);
  const number = (key: 'uid' | 'gid' | 'mode'): Partial<Mount> =>
    values.has(key) ? { [key]: numberOf(key, values.get(key) ?? '') } : {};
  const env = values.get('env');
  return {
    type,
    from: values.get('from') ?? '',
    source: values.get('source') ?? '',
    target: values.get('target') ?? '',
    isReadOnly: isReadOnly(type, values),
    ...(values.has('size') && { sizeBytes: sizeOf(values.get('size') ?? '') }),
    id: values.get('id') ?? '',
    sharing: sharingOf(values.get('sharing') ?? 'shared'),
    isRequired: flagOf('required', values.get('required') ?? 'false'),
    ...(env !== undefined && { env }),
    ...number('mode'),
    ...number('uid'),
    ...number('gid'),
  };
}

function sharingOf(value: string): Mount['sharing'] {
  return oneOf('sharing value', value.toLowerCase(), ['shared', 'private', 'locked']);
}

/** What the types do not have. */
function refuseForeign(type: MountType, values: ReadonlyMap<string, string>): void {
  const only = (key: string, types: readonly MountType[], problem: string): void => {
    if (values.has(key) && !types.includes(type)) {
      throw invalidArgument(problem);
    }
  };
  for (const key of ['mode', 'uid', 'gid']) {
    only(key, ['secret', 'ssh', 'cache'], `${key} not allowed for "${type}" type mounts`);
  }
  only('size', ['tmpfs'], `unexpected key 'size' for mount type '${type}'`);
  only('required', ['secret', 'ssh'], `unexpected key 'required' for mount type '${type}'`);
  only('sharing', ['cache'], `invalid cache sharing set for ${type} mount`);
  only('env', ['secret'], `unexpected key 'env' for mount type '${type}'`);
  if (type === 'secret') {
    if ((values.get('from') ?? '') !== '') {
      throw invalidArgument('secret mount should not have a from');
    }
    if (!['source', 'target', 'id'].some((key) => (values.get(key) ?? '') !== '')) {
      throw invalidArgument('invalid secret mount. one of source, target required');
    }
    if ((values.get('source') ?? '') !== '' && (values.get('id') ?? '') !== '') {
      throw invalidArgument("both source and id can't be set");
    }
  }
  if (type === 'ssh' && (values.get('source') ?? '') !== '') {
    throw invalidArgument('ssh does not support source');
  }
}

/** The last of both words counts. */
function isReadOnly(type: MountType, values: ReadonlyMap<string, string>): boolean {
  const last = [...values].findLast(([key]) => key === 'readonly' || key === 'readwrite');
  if (last === undefined) {
    return type !== 'cache' && type !== 'tmpfs';
  }
  const [key, value] = last;
  return flagOf(key, value) === (key === 'readonly');
}

interface Field {
  field: string;
  key: string;
  value: string | undefined;
}

function fieldsOf(text: string): Field[] {
  return csvFields(text).map((field) => {
    const equals = field.indexOf('=');
    const key = (equals < 0 ? field : field.slice(0, equals)).toLowerCase();
    return { field, key: ALIASES[key] ?? key, value: equals < 0 ? undefined : field.slice(equals + 1) };
  });
}

function flagOf(key: string, value: string): boolean {
  try {
    return parseBool(value);
  } catch {
    // Says it in Go's words, without the key.
    throw invalidArgument(`invalid value for ${key}: ${value}`);
  }
}

function sizeOf(value: string): number {
  if (!SIZE.test(value)) {
    throw invalidArgument(`invalid value for size: ${value}`);
  }
  return parseSize(value, 1024);
}

function numberOf(key: 'uid' | 'gid' | 'mode', value: string): number {
  const isMode = key === 'mode';
  const number = (isMode ? /^[0-7]+$/ : /^\d+$/).test(value) ? Number.parseInt(value, isMode ? 8 : 10) : -1;
  if (number < 0 || number > (isMode ? 0o7777 : 0xff_ff_ff_ff)) {
    throw invalidArgument(`invalid value ${value} for ${key}`);
  }
  return number;
}
