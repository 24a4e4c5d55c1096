import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../daemon/base/clock.ts';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { Agent } from '../../../swarm/agent/agent.ts';
import { Cluster } from '../../../swarm/cluster/cluster.ts';
import { Dispatcher } from '../../../swarm/dispatcher/dispatcher.ts';
import { startLeading } from '../../../swarm/leader/start-leading.ts';
import type { Leadership } from '../../../swarm/leader/ports.ts';
import { put, type Write } from '../../../swarm/objects/parts.ts';
import { TaskState } from '../../../swarm/objects/task-state.ts';
import { sealedKey } from '../../../swarm/objects/values.ts';
import type { Task } from '../../../swarm/planner/state/entries.ts';
import type { RpcClient } from '../../../swarm/rpc/port.ts';
import { MemoryCluster } from '../../../swarm/store/memory/memory-cluster.ts';
import { MemoryStore } from '../../../swarm/store/memory/memory-store.ts';
import { WAIT_MS } from '../../support/patience.ts';
import { clusterWrite, nodeWrites, serviceWrites } from '../../support/swarm/builders.ts';
import { Facts } from '../../support/swarm/dispatched-node.ts';
import { FakeExecutor } from '../../support/swarm/fake-executor.ts';
import { SeededRandom } from '../../support/seeded-random.ts';

/** One manager and one agent as they are, with a store in memory, an engine that is none, and no network between. */
class Swarm {
  readonly directory = mkdtempSync(path.join(tmpdir(), 'berth-test-swarm-'));
  readonly executor = new FakeExecutor();
  cluster!: Cluster;
  dispatcher!: Dispatcher;
  leadership!: Leadership;
  agent!: Agent;

  async start(): Promise<this> {
    const [clock, logger, random] = [systemClock, silentLogger, new SeededRandom(7)];
    const store = new MemoryStore({ clock, cluster: new MemoryCluster(clock) });
    this.cluster = await Cluster.open({ clock, logger, store });
    await this.write(clusterWrite(), ...nodeWrites('n1'));
    const { cluster } = this;
    const dial = (addr: string): RpcClient => this.#client(addr);
    this.dispatcher = new Dispatcher({
      clock,
      logger,
      random,
      cluster,
      facts: new Facts(),
      unseal: (_key, sealed) => sealed,
      dial,
    });
    this.leadership = startLeading({
      clock,
      logger,
      random,
      cluster,
      nodeId: 'n1',
      addr: 'm1:2377',
      loops: [this.dispatcher],
    });
    await this.startAgent();
    return this;
  }

  /** As a daemon does that has just started. */
  async startAgent(): Promise<void> {
    this.agent = await Agent.start({
      executor: this.executor,
      dial: (addr) => this.#client(addr),
      managers: () => [{ node: 'n1', addr: 'm1:2377' }],
      clock: systemClock,
      logger: silentLogger,
      random: new SeededRandom(8),
      stateDirectory: this.directory,
      node: { id: 'n1', hostname: 'host1' },
      addr: '',
      dataAddr: '',
      tlsInfo: () => ({}),
      onNode: () => undefined,
      onRoot: () => undefined,
      onManagers: () => undefined,
    });
  }

  async stop(): Promise<void> {
    await this.agent[Symbol.asyncDispose]();
    await this.leadership[Symbol.asyncDispose]();
    await this.cluster[Symbol.asyncDispose]();
    rmSync(this.directory, { recursive: true, force: true });
  }

  async write(...parts: Write[]): Promise<void> {
    await this.cluster.commit({ conditions: [], parts });
  }

  get tasks(): Task[] {
    return [...this.cluster.state.tasksOf('s')];
  }

  states(): number[] {
    return this.tasks.map(({ status }) => status?.state ?? 0);
  }

  #client(addr: string): RpcClient {
    const caller = {
      identity: { node: 'n1', role: 'swarm-manager' as const, cluster: 'c' },
      address: '127.0.0.1',
    };
    const method = (name: string) => this.dispatcher.methods.find((each) => each.name === name);
    return {
      addr,
      call: async (name, body, { signal = new AbortController().signal } = {}) => {
        const found = method(name);
        // As over the network: what is sent is not shared.
        return found?.kind === 'call'
          ? found.handle(JSON.parse(JSON.stringify(body)), caller, signal)
          : undefined;
      },
      stream: async function* stream(name, body, signal) {
        const found = method(name);
        if (found?.kind === 'stream') {
          for await (const value of found.handle(body, caller, signal)) {
            yield JSON.parse(JSON.stringify(value));
          }
        }
      },
      upload: async (name, values, signal) => {
        const found = method(name);
        return found?.kind === 'upload' ? found.handle(values, caller, signal) : undefined;
      },
      [Symbol.dispose]: () => undefined,
    };
  }
}

const until = { timeout: WAIT_MS, interval: 5 };

describe('a service', () => {
  let swarm: Swarm;

  beforeEach(async () => {
    swarm = await new Swarm().start();
  });

  afterEach(() => swarm.stop());

  test('runs on the node, is written twice a task, and goes without a trace', async () => {
    await swarm.write(...serviceWrites('s', { Mode: { Replicated: { Replicas: 50 } } }));
    await expect
      .poll(() => swarm.states().filter((state) => state === TaskState.running).length, until)
      .toBe(50);
    expect(swarm.executor.containers.size).toBe(50);
    expect(swarm.tasks[0]?.status?.container).toEqual({ id: expect.stringContaining('container'), pid: 42 });
    await swarm.write({ part: 'service', id: 's', value: null });
    await expect.poll(() => [swarm.tasks.length, swarm.executor.containers.size], until).toEqual([0, 0]);
    expect([swarm.cluster.state.services.size, swarm.cluster.state.looseStatuses.size]).toEqual([0, 0]);
  });

  test('a container that ends is replaced', async () => {
    const RestartPolicy = { Condition: 'any' as const, Delay: 1e6 };
    await swarm.write(
      ...serviceWrites('s', {
        Mode: { Replicated: { Replicas: 1 } },
        TaskTemplate: { ContainerSpec: { Image: 'busybox' }, RestartPolicy },
      }),
    );
    await expect.poll(() => swarm.states(), until).toEqual([TaskState.running]);
    const [first] = swarm.tasks;
    swarm.executor.exit(first?.id ?? '', 3);
    await expect.poll(() => swarm.states(), until).toEqual([TaskState.failed, TaskState.running]);
    expect(swarm.tasks[0]?.status).toMatchObject({
      error: 'task: non-zero exit (3)',
      container: { exitCode: 3 },
    });
  });

  test('100: a secret is at hand when the container is made', async () => {
    await swarm.cluster.commit({
      conditions: [],
      parts: [put('secret', { id: 'sec1', created: 0, updated: 0, spec: { Name: 'one', Labels: {} } })],
      values: [{ kind: 'put', key: sealedKey.secret('sec1'), value: Buffer.from('geheim') }],
    });
    await swarm.write(
      ...serviceWrites('s', {
        Mode: { Replicated: { Replicas: 1 } },
        TaskTemplate: {
          ContainerSpec: { Image: 'busybox', Secrets: [{ SecretID: 'sec1', SecretName: 'one' }] },
        },
      }),
    );
    await expect.poll(() => swarm.states(), until).toEqual([TaskState.running]);
    expect(swarm.executor.prepared[0]?.secrets.get('sec1')?.toString()).toBe('geheim');
  });

  test('its logs come from the agent', async () => {
    await swarm.write(...serviceWrites('s', { Mode: { Replicated: { Replicas: 2 } } }));
    await expect.poll(() => swarm.states(), until).toEqual([TaskState.running, TaskState.running]);
    const client = new AbortController();
    const request = { services: ['s'], tasks: [], follow: true, stdout: true, stderr: true };
    const tasks: string[] = [];
    for await (const item of swarm.dispatcher.logs(request, client.signal)) {
      tasks.push(item.kind === 'line' ? item.line.task : item.text);
      if (tasks.length === 2) {
        client.abort();
      }
    }
    expect(tasks.toSorted()).toEqual(swarm.tasks.map(({ id }) => id).toSorted());
  });

  test('101: another agent on the node goes on with what runs', async () => {
    await swarm.write(...serviceWrites('s'));
    await expect
      .poll(() => swarm.states().filter((state) => state === TaskState.running).length, until)
      .toBe(3);
    const [first] = swarm.tasks;
    await swarm.agent[Symbol.asyncDispose]();
    swarm.executor.exit(first?.id ?? '', 0);
    await swarm.startAgent();
    await expect.poll(() => first?.status?.state, until).toBe(TaskState.complete);
    const starts = [...swarm.executor.containers.values()].map((container) => container.starts);
    expect(Math.max(...starts)).toBe(1);
  });
});
