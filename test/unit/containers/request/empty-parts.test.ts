import { expect, test } from 'vitest';
import type { ContainerCreateRequest } from '../../../../api/types/container.ts';
import { containerCreateSchema } from '../../../../api/schemas/container-create.ts';
import type { Schema } from '../../../../api/schemas/schema.ts';
import { namingFields } from '../../../../daemon/containers/request/faulty-fields.ts';
import { build } from './build.ts';

/** Values that the schema lets pass and in which something is left out, or is there without a meaning. */
function* partsOf(schema: Schema): Generator {
  switch (schema.type) {
    case 'boolean':
      yield true;
      return;
    case 'number':
    case 'integer':
      yield* [1, schema.minimum === 0 ? 7 : -7];
      return;
    case 'string':
      yield* schema.enum ?? ['', 'x', '/x'];
      return;
    case 'array':
      for (const item of partsOf(schema.items ?? { type: 'string' })) {
        yield Array.from({ length: schema.minItems ?? 1 }, () => item);
      }
      return;
    case 'object':
      yield {};
      for (const [name, field] of Object.entries(schema.properties ?? {})) {
        for (const value of partsOf(field)) {
          yield { [name]: value };
        }
      }
      if (schema.additionalProperties) {
        for (const value of partsOf(schema.additionalProperties)) {
          yield { x: value };
        }
      }
  }
}

test('a refusal says nothing of what a request leaves out', () => {
  const messages: string[] = [];
  for (const part of partsOf(containerCreateSchema)) {
    // The schema made it.
    const request = part as ContainerCreateRequest;
    try {
      namingFields(request, build);
    } catch (error) {
      messages.push(`${JSON.stringify(part)}: ${String(error)}`);
    }
  }
  expect(messages.length).toBeGreaterThan(80);
  expect(
    messages.filter((text) => /undefined|\bnull\b|NaN|\[object|TypeError|RangeError/.test(text)),
  ).toEqual([]);
});
