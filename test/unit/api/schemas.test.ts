import { Ajv } from 'ajv';
import { expect, test } from 'vitest';
import * as create from '../../../api/schemas/container-create.ts';
import * as others from '../../../api/schemas/others.ts';
import * as cluster from '../../../api/schemas/swarm/cluster.ts';
import * as data from '../../../api/schemas/swarm/data.ts';
import * as service from '../../../api/schemas/swarm/service.ts';
import { settingsSchema } from '../../../daemon/boot/config/config.ts';

/** The daemon compiles its schemas unchecked, because checking them costs more than compiling them. */
test('schemas: those of bodies and of the configuration are JSON schemas', () => {
  const ajv = new Ajv({ strict: false });
  const schemas = Object.entries({
    ...create,
    ...others,
    ...cluster,
    ...data,
    ...service,
    settings: settingsSchema(),
  }).filter(([, schema]) => 'type' in schema || 'properties' in schema);
  expect(schemas.length).toBeGreaterThan(5);
  for (const [name, schema] of schemas) {
    expect(ajv.validateSchema(schema), `${name}: ${ajv.errorsText()}`).toBe(true);
  }
});
