import { describe, expect, test } from 'vitest';
import type { NodeSpec } from '../../../../api/types/swarm/node.ts';
import type { ManagerMember } from '../../../../swarm/control/ports.ts';
import { controlRig, type ControlRig } from '../../../support/swarm/control-rig.ts';
import { nodeState, nodeWrites } from '../../../support/swarm/builders.ts';

const PRECONDITION = 'rpc error: code = FailedPrecondition desc = ';
const WORKER: NodeSpec = { Role: 'worker', Availability: 'active' };

function member(node: string, reachability: ManagerMember['reachability'] = 'reachable'): ManagerMember {
  return { node, addr: `${node}:2377`, isLeader: node === 'm1', reachability };
}

async function rigOf(members: ManagerMember[], workers: string[] = ['w1']): Promise<ControlRig> {
  const rig = await controlRig({
    managers: { list: () => members },
    markOf: (node) => (node === 'w9' ? { state: 'unknown', message: 'moved' } : undefined),
  });
  await rig.context.cluster.commit({
    conditions: [],
    parts: [
      ...members.flatMap(({ node }) => nodeWrites(node, { Role: 'manager' }, { Hostname: `host-${node}` })),
      ...workers.flatMap((node) =>
        nodeWrites(
          node,
          { Labels: { zone: 'a' } },
          { Hostname: `host-${node}`, Engine: { Labels: { disk: 'ssd' } } },
        ),
      ),
    ],
  });
  return rig;
}

async function update({ control }: ControlRig, ref: string, spec: NodeSpec): Promise<void> {
  const { Version } = await control.nodes.inspect(ref);
  await control.nodes.update(ref, Version.Index ?? 0, spec);
}

test('inspect: the wish, the description, what is known of it, and its place among the managers', async () => {
  const { control, context } = await rigOf([member('m1')]);
  expect(await control.nodes.inspect('m1')).toEqual({
    ID: 'm1',
    Version: { Index: context.cluster.revision },
    CreatedAt: '0001-01-01T00:00:00Z',
    UpdatedAt: '0001-01-01T00:00:00Z',
    Spec: { Labels: {}, Role: 'manager', Availability: 'active' },
    Description: { Hostname: 'host-m1', Platform: {}, Resources: {}, Engine: {}, TLSInfo: {} },
    Status: { State: 'ready' },
    ManagerStatus: { Leader: true, Reachability: 'reachable', Addr: 'm1:2377' },
  });
  const worker = await control.nodes.inspect('host-w1');
  expect([worker.ID, worker.ManagerStatus]).toEqual(['w1', undefined]);
});

test('inspect: what only the leader knows of a node comes first', async () => {
  const { control } = await rigOf([member('m1')], ['w9']);
  expect((await control.nodes.inspect('w9')).Status).toEqual({ State: 'unknown', Message: 'moved' });
});

test.each<[filters: Record<string, string[]>, ids: string[]]>([
  [{}, ['m1', 'w1', 'w2']],
  [{ id: ['w'] }, ['w1', 'w2']],
  [{ name: ['host-m'] }, ['m1']],
  [{ label: ['disk=ssd'] }, ['w1', 'w2']],
  [{ 'node.label': ['zone'] }, ['w1', 'w2']],
  [{ 'node.label': ['zone=b'] }, []],
  [{ role: ['manager'] }, ['m1']],
  [{ role: ['manager', 'worker'] }, ['m1', 'w1', 'w2']],
  [{ membership: ['accepted'] }, ['m1', 'w1', 'w2']],
  [{ membership: ['pending'] }, []],
])('list: %j', async (filters, ids) => {
  const { control } = await rigOf([member('m1')], ['w1', 'w2']);
  const listed = await control.nodes.list(new Map(Object.entries(filters)));
  expect(listed.map(({ ID }) => ID)).toEqual(ids);
});

test.each([
  [{ x: ['y'] }, "invalid filter 'x'"],
  [{ role: ['y'] }, "Invalid role filter: 'y'"],
])('list: refuses %j', async (filters, message) => {
  const { control } = await rigOf([member('m1')]);
  await expect(control.nodes.list(new Map(Object.entries(filters)))).rejects.toMatchObject({
    code: 'invalid_argument',
    message,
  });
});

describe('update', () => {
  test('replaces all of it', async () => {
    const rig = await rigOf([member('m1')]);
    await update(rig, 'w1', { Role: 'manager', Availability: 'drain', Labels: { x: 'y' } });
    expect((await rig.control.nodes.inspect('w1')).Spec).toEqual({
      Labels: { x: 'y' },
      Role: 'manager',
      Availability: 'drain',
    });
    await expect(rig.control.nodes.update('w1', 1, WORKER)).rejects.toThrow(
      'rpc error: code = Unknown desc = update out of sequence',
    );
  });

  test.each([
    [{ Availability: 'active' }, 'invalid Role: ""'],
    [{ Role: 'x', Availability: 'active' }, 'invalid Role: "x"'],
    [{ Role: 'worker' }, 'invalid Availability: ""'],
  ])('refuses %j', async (spec, message) => {
    const rig = await rigOf([member('m1')]);
    // What a client may send, whatever the types say.
    await expect(update(rig, 'w1', spec as NodeSpec)).rejects.toMatchObject({
      code: 'invalid_argument',
      message,
    });
  });

  test('115, 120: the last manager stays, and so do those without whom the others cannot agree', async () => {
    await expect(update(await rigOf([member('m1')]), 'm1', WORKER)).rejects.toMatchObject({
      code: 'invalid_argument',
      message: `${PRECONDITION}attempting to demote the last manager of the swarm`,
    });
    const three = await rigOf([member('m1'), member('m2'), member('m3', 'unreachable')]);
    await expect(update(three, 'm2', WORKER)).rejects.toThrow(
      `${PRECONDITION}can't remove member from the raft: this would result in a loss of quorum`,
    );
    await update(three, 'm3', WORKER);
    expect((await three.control.nodes.inspect('m3')).Spec.Role).toBe('worker');
  });
});

describe('remove', () => {
  test('refuses a node that is not down, unless it is forced', async () => {
    const { control } = await rigOf([member('m1')]);
    await expect(control.nodes.remove('w1', { force: false })).rejects.toThrow(
      `${PRECONDITION}node w1 is not down and can't be removed`,
    );
    await control.nodes.remove('w1', { force: true });
    await expect(control.nodes.inspect('w1')).rejects.toMatchObject({
      code: 'not_found',
      message: 'node w1 not found',
    });
  });

  test('forgets a node that is down, with all of its parts', async () => {
    const { control, context } = await rigOf([member('m1')]);
    await context.cluster.commit({ conditions: [], parts: [nodeState('w1', 'down')] });
    await control.nodes.remove('w1', { force: false });
    expect(context.cluster.state.nodes.has('w1')).toBe(false);
  });

  test('refuses a manager, forced or not', async () => {
    const { control } = await rigOf([member('m1'), member('m2')]);
    await expect(control.nodes.remove('m2', { force: true })).rejects.toThrow(
      `${PRECONDITION}node m2 is a cluster manager and is a member of the raft cluster. It must be demoted to worker ` +
        'before removal',
    );
  });
});

test('look-up: a host name that two nodes have is ambiguous', async () => {
  const { control, context } = await rigOf([member('m1')], []);
  await context.cluster.commit({
    conditions: [],
    parts: ['a1', 'a2'].flatMap((id) => nodeWrites(id, {}, { Hostname: 'twin' })),
  });
  await expect(control.nodes.inspect('twin')).rejects.toMatchObject({
    code: 'invalid_argument',
    message: 'node twin is ambiguous (2 matches found)',
  });
  await expect(control.nodes.inspect('a')).rejects.toThrow('node a is ambiguous (2 matches found)');
});
