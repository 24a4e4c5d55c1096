import { armHere } from '../../../support/fakes/failpoints.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../../../daemon/base/clock.ts';
import { limits } from '../../../../daemon/base/limits.ts';
import { silentLogger } from '../../../../daemon/base/logger.ts';
import type { Leading } from '../../../../swarm/leader/ports.ts';
import { forgetGhosts } from '../../../../swarm/membership/manager/ghosts.ts';
import { put } from '../../../../swarm/objects/parts.ts';
import { managerKey } from '../../../../swarm/objects/values.ts';
import { controlRig, NOBODY, type ControlRig } from '../../../support/swarm/control-rig.ts';

let rig: ControlRig;
const blocked: string[] = [];

beforeEach(async () => {
  rig = await controlRig();
  blocked.length = 0;
});
afterEach(async () => {
  armHere('');
  await rig[Symbol.asyncDispose]();
});

const now = Number(systemClock.nowNano() / 1_000_000n);
const old = now - limits.swarmGhostNodeMs - 60_000;

async function letIn(id: string, created: number, hasCome: boolean): Promise<void> {
  await rig.context.cluster.commit({
    conditions: [],
    parts: [
      put('node', { id, created, updated: created, spec: { Role: 'worker', Availability: 'active' } }),
      put('nodeState', { id, role: 'worker', state: 'down', message: '', addr: '', since: created }),
      ...(hasCome ? [put('nodeDescription', { id, description: { Hostname: id } })] : []),
    ],
  });
}

async function forget(): Promise<string[]> {
  const { cluster } = rig.context;
  // Nothing else of the leadership is used.
  const leading = {
    cluster,
    signal: NOBODY,
    commit: (commit: Parameters<typeof cluster.commit>[0]) => cluster.commit(commit),
  } as unknown as Leading;
  const authority = {
    removalOf: (node: string) => {
      blocked.push(node);
      return [];
    },
  };
  await forgetGhosts({ clock: systemClock, logger: silentLogger, authority }, leading);
  return [...cluster.state.nodes.keys()].toSorted((a, b) => (a < b ? -1 : 1));
}

test('ghosts: a node that never came goes after a day with its certificate, those that came stay', async () => {
  await letIn('ghost', old, false);
  await letIn('down', old, true);
  await letIn('young', now - limits.swarmGhostNodeMs + 60_000, false);
  await letIn('manager', old, false);
  await rig.context.cluster.commit({
    conditions: [],
    values: [{ kind: 'put', key: managerKey('manager'), value: Buffer.from('{"addr":"10.0.0.1:2377"}') }],
  });
  expect(await forget()).toEqual(['down', 'manager', 'young']);
  expect(blocked).toEqual(['ghost']);
  expect(rig.context.cluster.part('nodeState', 'ghost')).toBeUndefined();
});

test('ghosts: one whose removal fails is tried again, and keeps no other', async () => {
  await letIn('one', old, false);
  await letIn('two', old, false);
  armHere('swarm.membership.ghost-forgotten=error(no store)@1');
  expect(await forget()).toHaveLength(1);
  expect(await forget()).toEqual([]);
});
