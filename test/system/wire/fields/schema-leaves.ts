import type { Schema } from '../../../../api/schemas/schema.ts';

/** One field of a request, however deep. */
export interface Leaf {
  /** `HostConfig.Mounts.Type`: lists and maps are looked through. */
  path: string;
  schema: Schema;
  /** A body that holds `value` there and nothing else. */
  wrap: (value: unknown) => unknown;
}

/** Every leaf of a schema. */
export function leavesOf(schema: Schema, path = '', wrap: Leaf['wrap'] = (value) => value): Leaf[] {
  const { items, additionalProperties: values, properties = {} } = schema;
  if (hasProperties(items)) {
    return leavesOf(items, path, (value) => wrap([value]));
  }
  if (hasProperties(values)) {
    return leavesOf(values, path, (value) => wrap({ '80/tcp': value }));
  }
  const names = Object.entries(properties);
  return names.length === 0
    ? [{ path, schema, wrap }]
    : names.flatMap(([name, child]) =>
        leavesOf(child, path === '' ? name : `${path}.${name}`, (value) => wrap({ [name]: value })),
      );
}

function hasProperties(schema: Schema | undefined): schema is Schema {
  return (
    schema !== undefined &&
    (Object.keys(schema.properties ?? {}).length > 0 ||
      Object.keys(schema.items?.properties ?? {}).length > 0)
  );
}
