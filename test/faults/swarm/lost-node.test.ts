import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TaskInspect as Task } from '../../../api/types/swarm/task.ts';
import type { SwarmInspect } from '../../../api/types/swarm/swarm.ts';
import { kill } from '../../support/engine/cleanup.ts';
import { sleep, until } from '../../support/engine/http.ts';
import { needsEngine } from '../../support/needs.ts';
import { TestSwarm } from '../../support/swarm/hosts/test-swarm.ts';

const HEARTBEAT_MS = 2_000;
/** Periods without a heartbeat, and what one period may be longer than it says. */
const SEEN_MS = 3 * HEARTBEAT_MS + 1_000;
const REPLACED_MS = 2_000;
/** Other tests may take both processors meanwhile; the figures that are printed are as they were. */
const LOAD_FACTOR = 4;
const LOOK_MS = 10;

needsEngine('docker-cli', 'etcd')('a node of a swarm is lost', () => {
  let swarm: TestSwarm;

  beforeAll(async () => {
    swarm = await TestSwarm.start(3, { config: { 'log-level': 'info' } });
    await swarm.init();
    await swarm.join(2, 'worker');
    await swarm.join(3, 'worker');
    const { http } = swarm.node(1).daemon;
    const { Version, Spec } = await http.ok<SwarmInspect>('GET', '/swarm');
    const Dispatcher = { HeartbeatPeriod: HEARTBEAT_MS * 1e6 };
    await http.ok('POST', `/swarm/update?version=${Version.Index}`, { ...Spec, Dispatcher });
    await swarm.must(
      1,
      'service',
      'create',
      '--name',
      'web',
      '--replicas',
      '6',
      '--network',
      'none',
      '--detach=true',
      'busybox',
      'sleep',
      '3600',
    );
    await until('six tasks', async () => (await running()).length === 6);
  });
  afterAll(() => swarm[Symbol.asyncDispose]());

  const running = async (): Promise<Task[]> => {
    const filters = encodeURIComponent('{"desired-state":["running"]}');
    const tasks = await swarm.node(1).daemon.http.ok<Task[]>('GET', `/tasks?filters=${filters}`);
    return tasks.filter(({ Status }) => Status.State === 'running');
  };
  const stateOf = async (number: number): Promise<string | undefined> => {
    const nodes = await swarm
      .node(1)
      .daemon.http.ok<{ ID: string; Description: { Hostname: string }; Status: { State: string } }[]>(
        'GET',
        '/nodes',
      );
    return nodes.find(({ Description }) => Description.Hostname === `n${number}`)?.Status.State;
  };

  test.each([
    [3, 'its daemon is killed'],
    [2, 'its cable is pulled'],
  ])('n%i: %s: it is down after three heartbeats, and its tasks run elsewhere soon', async (number, how) => {
    const node = swarm.node(number);
    const lostId = await swarm.must(number, 'info', '--format', '{{.Swarm.NodeID}}');
    if (how.includes('killed')) {
      kill(node.daemon.pid);
    } else {
      swarm.lan.plug(number, 'out');
    }
    const startMs = performance.now();
    const sinceMs = async (holds: () => Promise<boolean>): Promise<number> => {
      while (!(await holds())) {
        await sleep(LOOK_MS);
      }
      return performance.now() - startMs;
    };
    const downMs = await sinceMs(async () => (await stateOf(number)) === 'down');
    const replacedMs = await sinceMs(async () => {
      const tasks = await running();
      return tasks.length === 6 && tasks.every(({ NodeID }) => NodeID !== lostId);
    });
    console.log(
      `${how}: down ${downMs.toFixed(0)} ms, elsewhere ${(replacedMs - downMs).toFixed(0)} ms later`,
    );
    expect(downMs).toBeLessThan(SEEN_MS * LOAD_FACTOR);
    expect(replacedMs - downMs).toBeLessThan(REPLACED_MS * LOAD_FACTOR);
    if (how.includes('killed')) {
      await node.daemon.ended();
      await node.daemon.up();
    } else {
      swarm.lan.plug(number, 'in');
    }
    await until(`n${number} to be ready`, async () => (await stateOf(number)) === 'ready', 90_000);
  });
});
