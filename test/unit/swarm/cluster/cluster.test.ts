import { afterEach, beforeEach, expect, test } from 'vitest';
import { silentLogger } from '../../../../daemon/base/logger.ts';
import { Cluster, type ChangedPart } from '../../../../swarm/cluster/cluster.ts';
import { keyOf } from '../../../../swarm/objects/keys.ts';
import { remove } from '../../../../swarm/objects/parts.ts';
import { nameKey } from '../../../../swarm/objects/values.ts';
import { ScriptedFaults } from '../../../../swarm/store/memory/faults.ts';
import { MemoryCluster } from '../../../../swarm/store/memory/memory-cluster.ts';
import { MemoryStore } from '../../../../swarm/store/memory/memory-store.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';
import { nodeState, nodeWrites, serviceWrites } from '../../../support/swarm/builders.ts';
import { put } from '../../../support/swarm/stores.ts';

let store: MemoryStore;
let cluster: Cluster;
let clock: ManualClock;
let faults: ScriptedFaults;

beforeEach(async () => {
  clock = new ManualClock();
  faults = new ScriptedFaults();
  store = new MemoryStore({ clock, cluster: new MemoryCluster(clock), faults: faults.next });
  cluster = await Cluster.open({ clock, logger: silentLogger, store });
});

afterEach(() => cluster[Symbol.asyncDispose]());

test('commit: what was written can be read at once, with its revision, by parts and by key', async () => {
  const revision = await cluster.commit({
    conditions: [{ key: nameKey('service', 'web'), revision: 0 }],
    parts: [...serviceWrites('s'), ...nodeWrites('n')],
    values: [put(nameKey('service', 'web'), 's')],
  });
  expect(cluster.revision).toBe(revision);
  expect(cluster.revisionOf('service', 's')).toBe(revision);
  expect(cluster.revisionOf('service', 'other')).toBe(0);
  expect(cluster.part('node', 'n')?.spec.Role).toBe('worker');
  expect(cluster.value(nameKey('service', 'web'))?.value.toString()).toBe('s');
  expect([...cluster.state.services.keys(), ...cluster.state.nodes.keys()]).toEqual(['s', 'n']);
  expect([...cluster.parts()].map(({ write }) => write.part).toSorted()).toEqual([
    'node',
    'nodeDescription',
    'nodeState',
    'service',
    'template',
  ]);
});

test('commit: what this manager has written is kept once, what others have written is read', async () => {
  const [service, template] = serviceWrites('s');
  await cluster.commit({ conditions: [], parts: [service!, template!] });
  expect(cluster.part('service', 's')).toBe(service?.value);
  expect(cluster.state.services.get('s')?.record).toBe(service?.value);
  await using other = await Cluster.open({ clock, logger: silentLogger, store });
  expect(other.part('service', 's')).toEqual(service?.value);
  expect([...other.parts()].map(({ write }) => write.value)).toContain(other.part('service', 's'));
});

test('a value that cannot be read is left out, and the next one of its key is not', async () => {
  await store.commit({ conditions: [], writes: [put('node/n/spec', 'no JSON'), put('node/n/cert', 'kept')] });
  await clock.advance(0);
  expect([cluster.part('node', 'n'), cluster.value('node/n/spec')]).toEqual([undefined, undefined]);
  expect([...cluster.values('node/')].map(({ key }) => key)).toEqual(['node/n/cert']);
  expect(cluster.version('node/n/spec')?.revision).toBe(cluster.revision);
  await cluster.commit({ conditions: [], parts: nodeWrites('n') });
  expect(cluster.part('node', 'n')?.spec.Role).toBe('worker');
});

test('commit: a condition that does not hold leaves everything as it was', async () => {
  await cluster.commit({ conditions: [], parts: serviceWrites('s') });
  const refused = cluster.commit({
    conditions: [{ key: keyOf('service', 's'), revision: 0 }],
    parts: nodeWrites('n'),
  });
  await expect(refused).rejects.toMatchObject({ failure: 'conflict' });
  expect(cluster.state.nodes.size).toBe(0);
});

test('commit: what stands in the store and is not here for long is told as that, not as refused', async () => {
  faults.add('watch', { kind: 'delay', ms: 12_000 });
  const written = cluster.commit({ conditions: [], parts: serviceWrites('s') });
  const told = expect(written).rejects.toMatchObject({ failure: 'unknown', stands: cluster.revision + 1 });
  await clock.advance(1);
  await clock.advance(10_000);
  await told;
  await clock.advance(10_000);
  expect(cluster.part('service', 's')).toBeDefined();
});

test('subscribe: parts are told in order with their revisions, after the state has them', async () => {
  const told: ChangedPart[] = [];
  cluster.subscribe((changed) => {
    told.push(...changed);
    expect(cluster.state.nodes.has('n')).toBe(true);
  });
  const first = await cluster.commit({ conditions: [], parts: [nodeState('n', 'ready')] });
  const second = await cluster.commit({ conditions: [], parts: [nodeState('n', 'down')] });
  expect(told.map(({ revision, write }) => [revision, write.id])).toEqual([
    [first, 'n'],
    [second, 'n'],
  ]);
});

test('a value that cannot be read is left out, and the others are told', async () => {
  const told: ChangedPart[] = [];
  cluster.subscribe((changed) => told.push(...changed));
  await cluster.commit({
    conditions: [],
    parts: [nodeState('n', 'ready')],
    values: [put(keyOf('service', 's'), '{"spec":7}'), put('/berth/1/unknown/x', 'y')],
  });
  expect(told.map(({ write }) => write.part)).toEqual(['nodeState']);
  await cluster.commit({ conditions: [], parts: [remove('nodeState', 'n')] });
  expect(cluster.state.nodes.size).toBe(0);
});
