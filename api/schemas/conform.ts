import { invalidArgument } from '../../daemon/base/errors.ts';
import type { Schema } from './schema.ts';

/**
 * Reads JSON as Go reads it into a struct, which is what every client was tested against: a field is found whatever its
 * case, null is "not set", unknown fields are ignored. Returns a copy; types are not checked here.
 */
export function conform(schema: Schema, value: unknown, path = ''): unknown {
  if (Array.isArray(value)) {
    const { items } = schema;
    return items ? value.map((item: unknown, index) => conform(items, item, `${path}[${index}]`)) : value;
  }
  if (typeof value !== 'object' || value === null) {
    return value;
  }
  return schema.properties
    ? conformStruct(schema.properties, value, path)
    : conformMap(schema.additionalProperties, value, path);
}

function conformStruct(properties: Readonly<Record<string, Schema>>, value: object, path: string): object {
  const struct: Record<string, unknown> = {};
  for (const [key, field] of Object.entries(value)) {
    const name = Object.hasOwn(properties, key) ? key : sameName(properties, key);
    const schema = name === undefined ? undefined : properties[name];
    if (name !== undefined && schema !== undefined && field !== null) {
      struct[name] = conform(schema, field, path === '' ? name : `${path}.${name}`);
    }
  }
  return struct;
}

function sameName(properties: Readonly<Record<string, Schema>>, key: string): string | undefined {
  const lower = key.toLowerCase();
  return Object.keys(properties).find((name) => name.toLowerCase() === lower);
}

function conformMap(schema: Schema | undefined, value: object, path: string): object {
  const map: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    // As a key of our objects it would replace their prototype instead of being stored.
    if (key === '__proto__') {
      throw invalidArgument(`invalid field ${path}: "__proto__" is not a valid key`);
    }
    const isUnset = item === null && schema?.type === 'object' && !schema.nullable;
    map[key] = isUnset ? {} : schema ? conform(schema, item, `${path}[${JSON.stringify(key)}]`) : item;
  }
  return map;
}
