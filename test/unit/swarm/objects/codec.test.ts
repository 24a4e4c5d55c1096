import { describe, expect, test } from 'vitest';
import { decodePart, encodePart } from '../../../../swarm/objects/codec.ts';
import { keyOf, partOf } from '../../../../swarm/objects/keys.ts';
import type { PartName, Parts } from '../../../../swarm/objects/parts.ts';
import { TaskState, taskStateName } from '../../../../swarm/objects/task-state.ts';
import { taskRecord, taskStatus } from '../../../support/swarm/builders.ts';

const id = 'a'.repeat(25);
const owned = { id, created: 1, updated: 2 };
const samples: Parts = {
  cluster: {
    ...owned,
    spec: { Name: 'default' },
    addressPools: ['10.0.0.0/8'],
    subnetSize: 24,
    dataPathPort: 4789,
  },
  node: { ...owned, spec: { Role: 'worker', Availability: 'active' } },
  nodeState: { id, role: 'worker', state: 'ready', message: '', addr: '10.0.0.1', since: 5 },
  nodeDescription: { id, description: { Hostname: 'h' } },
  service: { ...owned, spec: { Name: 's' }, template: 1, templatesIssued: 1 },
  previousService: { id, spec: { Name: 's' }, template: 1 },
  serviceRun: { id, ports: [{ TargetPort: 80, PublishedPort: 30000 }], portsOf: 1 },
  template: { id: `${id}/3`, task: { ContainerSpec: { Image: 'i' } } },
  task: taskRecord(id, 's', { slot: 1, node: 'n' }),
  status: taskStatus(id, TaskState.failed, 3, { error: 'task: non-zero exit (1)' }),
  network: { ...owned, name: 'n', labels: {}, driver: 'bridge', ingress: false, attachable: false },
  attachment: {
    id,
    created: 1,
    network: 'n',
    node: 'm',
    container: 'c',
    names: ['web'],
    addresses: ['10.0.1.5'],
  },
  nodeAddresses: { id, networks: [{ network: 'n', addresses: ['10.0.0.2'] }] },
  secret: { ...owned, spec: { Name: 's' } },
  config: { ...owned, spec: { Name: 'c' } },
};
// The keys are those of the table.
const names = Object.keys(samples) as PartName[];

describe('codec', () => {
  test.each(names)('%s: bytes and back, key and back', (part) => {
    const value = samples[part];
    expect(decodePart(part, value.id, encodePart(part, value))).toEqual(value);
    expect(partOf(keyOf(part, value.id))).toEqual({ part, id: value.id });
  });

  test('a task is small: its record and its status stay below 450 and 250 bytes', () => {
    const long = taskRecord(id, id, {
      slot: 12345,
      node: id,
      created: 1_700_000_000_000,
      updated: 1_700_000_000_000,
      gate: { notBefore: 1_700_000_000_000, after: id },
    });
    const status = taskStatus(id, TaskState.running, 1_700_000_000_000, {
      message: 'started',
      container: { id: 'f'.repeat(64), pid: 12345 },
    });
    expect(encodePart('task', long).length).toBeLessThan(450);
    expect(encodePart('status', status).length).toBeLessThan(250);
  });

  test.each([
    ['no JSON', 'x{'],
    ['no object', '[]'],
    ['a field missing', '{"state":512,"at":1}'],
    ['a state that is none', '{"state":513,"at":1,"message":""}'],
    ['a field of another kind', '{"state":512,"at":"1","message":""}'],
    ['a field of the prototype', '{"state":512,"at":1,"__proto__":{"message":""}}'],
  ])('what is no such part is refused, naming the key: %s', (_, text) => {
    expect(() => decodePart('status', id, Buffer.from(text))).toThrow(`status/${id}`);
  });

  test('fields of later versions are kept', () => {
    const bytes = Buffer.from('{"state":512,"at":1,"message":"","later":true}');
    expect(decodePart('status', id, bytes)).toEqual({ id, state: 512, at: 1, message: '', later: true });
  });

  test('keys of other things are no parts', () => {
    const others = ['lease/leader', `secret/${id}/data`, 'name/service/a', '/x'];
    expect(others.map(partOf)).toEqual(others.map(() => undefined));
  });

  test('states have the names of the API', () => {
    expect(Object.values(TaskState).map(taskStateName)).toEqual(Object.keys(TaskState));
  });
});
