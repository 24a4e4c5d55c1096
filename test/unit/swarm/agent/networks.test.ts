import { armHere } from '../../../support/fakes/failpoints.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { silentLogger } from '../../../../daemon/base/logger.ts';
import { Agent } from '../../../../swarm/agent/agent.ts';
import { TaskState } from '../../../../swarm/objects/task-state.ts';
import type { NetworksChange } from '../../../../swarm/protocol/networks.ts';
import { ManualClock, settled } from '../../../support/fakes/manual-clock.ts';
import { FakeExecutor } from '../../../support/swarm/fake-executor.ts';
import { assignedTask, FakeLeader, taskId } from '../../../support/swarm/fake-leader.ts';
import { networksChange } from '../../../support/swarm/networks.ts';
import { waitFor } from '../../../support/wait-for.ts';

const ONE = taskId(1);
const IN_NETWORK = { networks: [{ network: 'net1', addresses: ['10.0.1.3'] }] };

let directory: string;
let clock: ManualClock;
let executor: FakeExecutor;
let leader: FakeLeader;
let agents: Agent[];
/** In which order the engine was asked. */
let order: string[];

beforeEach(() => {
  armHere('');
  directory = mkdtempSync(join(tmpdir(), 'berth-test-agent-'));
  clock = new ManualClock();
  executor = new FakeExecutor();
  leader = new FakeLeader();
  agents = [];
  order = [];
  executor.before = (step) => void order.push(step);
  const networks = executor.networks.bind(executor);
  executor.networks = async (change) => {
    order.push('networks');
    await networks(change);
  };
});

afterEach(async () => {
  await Promise.all(agents.map((agent) => agent[Symbol.asyncDispose]()));
  rmSync(directory, { recursive: true, force: true });
});

async function withSession(): Promise<Agent> {
  const agent = await Agent.start({
    executor,
    dial: leader.dial,
    managers: () => [{ node: 'm1', addr: 'm1:2377' }],
    clock,
    logger: silentLogger,
    random: { bytes: (count) => new Uint8Array(count) },
    stateDirectory: directory,
    node: { id: 'node1', hostname: 'host1' },
    addr: '10.0.0.1',
    dataAddr: '',
    tlsInfo: () => ({}),
    onNode: () => undefined,
    onRoot: () => undefined,
    onManagers: () => undefined,
  });
  agents.push(agent);
  await waitFor(() => expect(leader.session.isOpen).toBe(true));
  return agent;
}

const tell = (change: Partial<NetworksChange>): void =>
  leader.session.tell({ kind: 'networks', change: networksChange(change) });

/** Runs in a network of the swarm, and is to end. */
async function toEnd(given: Parameters<typeof assignedTask>[1]): Promise<void> {
  leader.session.assign([assignedTask(ONE, given)]);
  await waitFor(() => expect(order).toContain('wait'));
  leader.session.assign([assignedTask(ONE, { ...given, desired: TaskState.shutdown })], { full: false });
  await settled();
}

async function ran(ms: number): Promise<boolean> {
  await clock.advance(ms);
  await settled();
  return order.includes('stop');
}

describe('networks', () => {
  test('a change that comes in parts is told as one, before the tasks that follow', async () => {
    await withSession();
    tell({ full: true, more: true, removedNetworks: ['net7'] });
    tell({ full: true, removedNetworks: ['net8'] });
    leader.session.assign([assignedTask(ONE)]);
    await waitFor(() => expect(order).toContain('prepare'));
    expect(order.slice(0, 2)).toEqual(['networks', 'prepare']);
    expect(executor.networkChanges).toEqual([
      networksChange({ full: true, removedNetworks: ['net7', 'net8'] }),
    ]);
  });

  test('changes are followed one after the other', async () => {
    let release!: () => void;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const networks = executor.networks.bind(executor);
    executor.networks = async (change) => {
      await networks(change);
      await held;
    };
    await withSession();
    tell({ full: true });
    tell({ removedNetworks: ['net8'] });
    await waitFor(() => expect(executor.networkChanges).toHaveLength(1));
    await settled();
    expect(executor.networkChanges).toHaveLength(1);
    release();
    await waitFor(() => expect(executor.networkChanges).toHaveLength(2));
  });

  test('parts of a session that broke off are not those of the next one', async () => {
    await withSession();
    tell({ full: true, more: true, removedNetworks: ['net7'] });
    await settled();
    leader.session.end(new Error('broken'));
    await settled();
    await clock.advance(1_000);
    await waitFor(() => expect(leader.sessions).toHaveLength(2));
    tell({ full: true });
    await waitFor(() => expect(executor.networkChanges).toEqual([networksChange({ full: true })]));
  });

  test('what fails does not end the session', async () => {
    armHere('swarm.agent.networks.apply=error(no vxlan)@1');
    await withSession();
    tell({ full: true });
    tell({ removedNetworks: ['net8'] });
    leader.session.assign([assignedTask(ONE)]);
    await waitFor(() => expect(order).toContain('prepare'));
    expect(executor.networkChanges).toEqual([networksChange({ removedNetworks: ['net8'] })]);
    expect(leader.sessions).toHaveLength(1);
  });
});

describe('a task that is to end', () => {
  test('gets its signal only when other nodes have heard that it takes no more', async () => {
    await withSession();
    await toEnd(IN_NETWORK);
    expect(await ran(299)).toBe(false);
    expect(await ran(1)).toBe(true);
  });

  test('gets it at once where it is in no network of the swarm', async () => {
    await withSession();
    await toEnd({});
    expect(await ran(0)).toBe(true);
  });

  test('is waited for once, however often stopping it fails', async () => {
    const stops: number[] = [];
    executor.before = (step) => {
      order.push(step);
      if (step === 'stop') {
        stops.push(clock.monotonicMs());
        if (stops.length === 1) {
          throw new Error('not now');
        }
      }
    };
    await withSession();
    await toEnd(IN_NETWORK);
    await ran(300);
    await ran(200);
    expect(stops.map((ms) => ms - (stops[0] ?? 0))).toEqual([0, 200]);
  });

  test('gets no time where the node leaves', async () => {
    const agent = await withSession();
    await toEnd(IN_NETWORK);
    await agent.leave();
    expect(executor.containers.size).toBe(0);
  });
});

test('a node that leaves follows no network any more, after its tasks', async () => {
  const agent = await withSession();
  leader.session.tell({ kind: 'networks', change: networksChange({ full: true }) });
  leader.session.assign([assignedTask(ONE, IN_NETWORK)]);
  await settled();
  await agent.leave();
  expect(executor.networkChanges.at(-1)).toEqual(networksChange({ full: true }));
  expect(order.at(-1)).toBe('networks');
});
