import { beforeEach, expect, test } from 'vitest';
import { SwarmEvents, type Noted, type SwarmEvent } from '../../../../swarm/control/events/swarm-events.ts';
import type { ManagerMember } from '../../../../swarm/control/ports.ts';
import { put } from '../../../../swarm/objects/parts.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';
import { nodeState, nodeWrites } from '../../../support/swarm/builders.ts';
import { CLUSTER_ID, controlRig, NOBODY, type ControlRig } from '../../../support/swarm/control-rig.ts';

const OPTIONS = { pinImage: false, signal: NOBODY };
const SPEC = { Name: 'web', TaskTemplate: { ContainerSpec: { Image: 'busybox:1' } } };

let rig: ControlRig;
let told: SwarmEvent[];
let noted: Noted | undefined;
let members: ManagerMember[];
let clock: ManualClock;

beforeEach(async () => {
  told = [];
  noted = undefined;
  members = [];
  clock = new ManualClock();
  rig = await controlRig();
});

function watch(): SwarmEvents {
  return new SwarmEvents({
    cluster: rig.context.cluster,
    clusterId: CLUSTER_ID,
    clock,
    managers: { list: () => members },
    markOf: () => undefined,
    log: {
      noted: () => noted,
      note: (_cluster, events, { revision, there = [] }) => {
        told.push(...events);
        noted = { revision, objects: [...(noted?.objects ?? []), ...there] };
      },
    },
  });
}

/** One line an event. */
function lines(): string[] {
  return told
    .splice(0)
    .map(({ type, action, attributes }) => `${type} ${action} ${JSON.stringify(attributes)}`);
}

async function update(spec: object): Promise<void> {
  const { Version } = await rig.control.services.inspect('web', { insertDefaults: false });
  await rig.control.services.update(
    'web',
    { ...SPEC, ...spec },
    { ...OPTIONS, version: Version.Index ?? 0, registryAuthFrom: '', rollback: '' },
  );
}

test('service: made, changed with the old and the new values, removed', async () => {
  using _events = watch();
  const { ID } = await rig.control.services.create(SPEC, OPTIONS);
  await update({ Mode: { Replicated: { Replicas: 3 } } });
  await update({
    Mode: { Replicated: { Replicas: 3 } },
    TaskTemplate: { ContainerSpec: { Image: 'busybox:2' } },
  });
  const run = (state: 'updating' | 'completed') =>
    put('serviceRun', {
      id: ID,
      update: { state, message: '', started: 1, template: 3, slots: 3, failed: [] },
    });
  const { cluster } = rig.context;
  await cluster.commit({ conditions: [], parts: [run('updating')] });
  await cluster.commit({ conditions: [], parts: [run('updating')] });
  await cluster.commit({ conditions: [], parts: [run('completed')] });
  await rig.control.services.remove('web');
  expect(told.every(({ id, at }) => id === ID && at > 0)).toBe(true);
  expect(lines()).toEqual([
    'service create {"name":"web"}',
    'service update {"name":"web","replicas.old":"1","replicas.new":"3"}',
    'service update {"name":"web","image.old":"busybox:1","image.new":"busybox:2"}',
    'service update {"name":"web","updatestate.new":"updating"}',
    'service update {"name":"web","updatestate.old":"updating","updatestate.new":"completed"}',
    'service remove {"name":"web"}',
  ]);
});

test('node: what its user and its manager change of it', async () => {
  const { cluster } = rig.context;
  using _events = watch();
  await cluster.commit({ conditions: [], parts: nodeWrites('n', {}, { Hostname: 'one' }) });
  await cluster.commit({ conditions: [], parts: [nodeState('n', 'down')] });
  await cluster.commit({ conditions: [], parts: [nodeState('n', 'down', 5)] });
  const { Version } = await rig.control.nodes.inspect('n');
  await rig.control.nodes.update('n', Version.Index ?? 0, { Role: 'worker', Availability: 'drain' });
  await rig.control.nodes.remove('n', { force: true });
  expect(lines()).toEqual([
    'node create {"name":"one"}',
    'node update {"name":"one","state.old":"ready","state.new":"down"}',
    'node update {"name":"one","availability.old":"active","availability.new":"drain"}',
    'node remove {"name":"one"}',
  ]);
});

function member(isLeader: boolean, reachability: ManagerMember['reachability']): ManagerMember {
  return { node: 'n', addr: 'a:1', isLeader, reachability };
}

test('node: who leads, and who can be reached', async () => {
  const { cluster } = rig.context;
  members = [member(false, 'reachable')];
  await cluster.commit({ conditions: [], parts: nodeWrites('n', {}, { Hostname: 'one' }) });
  using _events = watch();
  members = [member(true, 'unreachable')];
  await clock.advance(1000);
  await clock.advance(1000);
  expect(lines()).toEqual([
    'node update {"name":"one","leader.old":"false","leader.new":"true",' +
      '"reachability.old":"reachable","reachability.new":"unreachable"}',
  ]);
});

test('secrets and configs: made, relabelled, removed', async () => {
  using _events = watch();
  const { secrets, configs } = rig.control;
  for (const port of [secrets, configs]) {
    await port.create({ Name: 'a', Data: 'eA==' });
    const { Version } = await port.inspect('a');
    await port.update('a', Version.Index ?? 0, { Name: 'a', Data: 'eA==', Labels: { b: 'c' } });
    await port.remove('a');
  }
  expect(lines()).toEqual(
    ['secret', 'config'].flatMap((kind) =>
      ['create', 'update', 'remove'].map((action) => `${kind} ${action} {"name":"a"}`),
    ),
  );
});

test('networks: made and removed, also while the manager was away', async () => {
  const { networks } = rig.control;
  await networks.create({ Name: 'old', Driver: 'overlay' });
  {
    using _events = watch();
    const { Id } = await networks.create({ Name: 'front', Driver: 'overlay' });
    expect(told.map(({ id, at }) => [id, at > 0])).toEqual([[Id, true]]);
    await networks.remove(Id);
  }
  expect(lines()).toEqual(['network create {"name":"front"}', 'network remove {"name":"front"}']);
  await networks.remove('old');
  await networks.create({ Name: 'new', Driver: 'overlay' });
  watch()[Symbol.dispose]();
  expect(lines()).toEqual(['network remove {"name":"old"}', 'network create {"name":"new"}']);
});

test('a manager that was away tells what was made, changed and removed meanwhile, once', async () => {
  await rig.control.services.create({ ...SPEC, Name: 'old' }, OPTIONS);
  await rig.control.services.create(SPEC, OPTIONS);
  watch()[Symbol.dispose]();
  // A manager that hears of a swarm for the first time tells nothing of what was before.
  expect(lines()).toEqual([]);
  await update({ Labels: { a: 'b' } });
  await rig.control.services.create({ ...SPEC, Name: 'new' }, OPTIONS);
  await rig.control.services.remove('old');
  await rig.control.services.create({ ...SPEC, Name: 'old' }, OPTIONS);
  // Nobody was told of it, so nobody is told of its end.
  await rig.control.services.create({ ...SPEC, Name: 'short' }, OPTIONS);
  await rig.control.services.remove('short');
  watch()[Symbol.dispose]();
  expect(lines()).toEqual([
    'service remove {"name":"old"}',
    'service update {"name":"web"}',
    'service create {"name":"new"}',
    'service create {"name":"old"}',
  ]);
  noted = { revision: rig.context.cluster.revision, objects: [] };
  watch()[Symbol.dispose]();
  expect(lines()).toEqual([]);
});
