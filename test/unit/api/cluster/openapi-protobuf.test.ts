import { expect, test } from 'vitest';
import { documentV2 } from '../../../../api/cluster/events/openapi/document.ts';
import { documentMessage } from '../../../../api/cluster/events/openapi/messages.ts';
import { protobufOf } from '../../../../api/cluster/events/openapi/protobuf.ts';
import { CORE_V1, EVENTS_V1 } from '../../../../api/cluster/events/version.ts';

const made = documentV2([EVENTS_V1, CORE_V1]);
const document = documentMessage.decode(protobufOf(made));

test('OpenAPI as protobuf: has every path, operation and definition of the document', () => {
  const { paths, definitions } = Object(made);
  expect(document.swagger).toBe('2.0');
  expect(document.paths?.named.map(({ name }) => name)).toEqual(Object.keys(paths));
  expect(document.definitions?.named.map(({ name }) => name)).toEqual(Object.keys(definitions));
  for (const { name, value } of document.paths?.named ?? []) {
    for (const method of ['get', 'put', 'post', 'delete', 'patch'] as const) {
      expect(value?.[method]?.description).toBe(paths[name][method]?.description);
      expect(value?.[method]?.parameters.length).toBe(paths[name][method]?.parameters.length);
    }
  }
});

test('OpenAPI as protobuf: a definition has its fields with their types, and the kind of object that it is', () => {
  const event = document.definitions?.named.find(({ name }) => name === 'io.k8s.api.events.v1.Event')?.value;
  const field = (name: string) => event?.properties?.named.find((one) => one.name === name)?.value;
  expect(field('reason')).toMatchObject({ ref: '', type: { value: ['string'] } });
  expect(field('deprecatedCount')).toMatchObject({ type: { value: ['integer'] }, format: 'int32' });
  expect(field('regarding')?.ref).toBe('#/definitions/io.k8s.api.events.v1.ObjectReference');
  expect(event?.vendor).toEqual([
    {
      name: 'x-kubernetes-group-version-kind',
      value: { yaml: '[{"group":"events.k8s.io","version":"v1","kind":"Event"}]' },
    },
  ]);
  const metadata = document.definitions?.named.find(({ name }) => name.endsWith('.ObjectMeta'))?.value;
  const part = (name: string) => metadata?.properties?.named.find((one) => one.name === name)?.value;
  expect(part('labels')?.additionalProperties?.schema?.type?.value).toEqual(['string']);
  expect(part('finalizers')?.items?.schema[0]?.type?.value).toEqual(['string']);
  expect(part('ownerReferences')?.items?.schema[0]?.ref).toMatch(/OwnerReference$/);
});
