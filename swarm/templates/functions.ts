import { invalidArgument } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import { isTrue, lengthOf, printed, Struct, type Value } from './values.ts';

/** Takes its arguments as they stand in the template. Throws what went wrong as an error of any kind. */
export type TemplateFunction = (...values: Value[]) => Value;

export type Functions = ReadonlyMap<string, TemplateFunction>;

/** Go's functions that make sense of texts and numbers, and `join` of the swarm. */
export const FUNCTIONS: Functions = new Map<string, TemplateFunction>([
  ['join', join],
  ['index', index],
  ['len', length],
  ['not', (value = null) => !isTrue(value)],
  ['and', (...values) => values.find((value) => !isTrue(value)) ?? values.at(-1) ?? null],
  ['or', (...values) => values.find(isTrue) ?? values.at(-1) ?? null],
  ['eq', (first = null, ...others) => others.some((other) => first === other)],
  ['ne', (one = null, other = null) => one !== other],
  ['lt', ordered((one, other) => one < other)],
  ['le', ordered((one, other) => one <= other)],
  ['gt', ordered((one, other) => one > other)],
  ['ge', ordered((one, other) => one >= other)],
  ['print', (...values) => print(values)],
  ['println', (...values) => `${values.map(printed).join(' ')}\n`],
  ['printf', (format = '', ...values) => printf(textOf(format), values)],
  ['urlquery', (...values) => encodeURIComponent(print(values)).replaceAll('%20', '+')],
]);

/** `join SEPARATOR A B...`. */
function join(...values: Value[]): string {
  const [separator = '', ...rest] = values.map(textOf);
  return rest.join(separator);
}

/** `index MAP KEY` or `index LIST N`, again for each further key. A key that a map does not have is empty. */
function index(from: Value = null, ...keys: Value[]): Value {
  return keys.reduce((value, key) => {
    if (value instanceof Map) {
      return value.get(textOf(key)) ?? '';
    }
    if (!Array.isArray(value) && typeof value !== 'string') {
      throw invalidArgument(`can't index item of type ${typeName(value)}`);
    }
    // The compiler does not narrow by the negated test.
    const items = value as string | readonly Value[];
    if (typeof key !== 'number' || !Number.isInteger(key)) {
      throw invalidArgument(`cannot index slice/array with type ${typeName(key)}`);
    }
    if (key < 0 || key >= items.length) {
      throw invalidArgument(`index out of range: ${key}`);
    }
    return items[key] ?? null;
  }, from);
}

function length(value: Value = null): number {
  const found = lengthOf(value);
  if (found === undefined) {
    throw invalidArgument(`len of type ${typeName(value)}`);
  }
  return found;
}

function ordered(test: (one: string | number, other: string | number) => boolean): TemplateFunction {
  return (one = null, other = null) => {
    if (typeof one === 'string' && typeof other === 'string') {
      return test(one, other);
    }
    if (typeof one === 'number' && typeof other === 'number') {
      return test(one, other);
    }
    throw invalidArgument('incompatible types for comparison');
  };
}

/** A blank between two values of which none is a text, as Go's Sprint. */
function print(values: readonly Value[]): string {
  return values
    .map((value, at) => {
      const before = values[at - 1];
      const isApart = at > 0 && typeof value !== 'string' && typeof before !== 'string';
      return (isApart ? ' ' : '') + printed(value);
    })
    .join('');
}

const VERB = /%(-?)(0?)(\d*)(?:\.(\d+))?([a-zA-Z%])/g;

function printf(format: string, values: readonly Value[]): string {
  let next = 0;
  const text = format.replaceAll(VERB, (all, left: string, zero: string, width: string, _p, verb: string) => {
    if (verb === '%') {
      return '%';
    }
    if (Number(width) > limits.swarmTemplateWidthMax) {
      throw invalidArgument(`printf: the width of ${all} is more than ${limits.swarmTemplateWidthMax}`);
    }
    if (next >= values.length) {
      return `%!${verb}(MISSING)`;
    }
    const value = values[next] ?? null;
    next += 1;
    const shown = formatted(verb, value);
    return left === '-'
      ? shown.padEnd(Number(width))
      : shown.padStart(Number(width), zero === '0' ? '0' : ' ');
  });
  const extra = values.slice(next).map((value) => `${typeName(value)}=${printed(value)}`);
  return extra.length === 0 ? text : `${text}%!(EXTRA ${extra.join(', ')})`;
}

function formatted(verb: string, value: Value): string {
  switch (verb) {
    case 'v':
      return printed(value);
    case 's':
      return typeof value === 'number' ? `%!s(int=${value})` : printed(value);
    case 'd':
      return typeof value === 'number' ? String(value) : `%!d(${typeName(value)}=${printed(value)})`;
    case 't':
      return typeof value === 'boolean' ? String(value) : `%!t(${typeName(value)}=${printed(value)})`;
    case 'q':
      return JSON.stringify(printed(value));
    case 'x':
      return typeof value === 'number' ? value.toString(16) : Buffer.from(printed(value)).toString('hex');
    default:
      return `%!${verb}(${typeName(value)}=${printed(value)})`;
  }
}

/** A text, where a function takes nothing else. */
export function textOf(value: Value): string {
  if (typeof value !== 'string') {
    throw invalidArgument(`wrong type for value; expected string; got ${typeName(value)}`);
  }
  return value;
}

export function typeName(value: Value): string {
  if (value === null) {
    return 'nil';
  }
  if (value instanceof Struct) {
    return value.type;
  }
  if (value instanceof Map) {
    return 'map[string]string';
  }
  if (Array.isArray(value)) {
    return '[]string';
  }
  const names: Record<string, string> = { string: 'string', number: 'int', boolean: 'bool' };
  return names[typeof value] ?? 'value';
}
