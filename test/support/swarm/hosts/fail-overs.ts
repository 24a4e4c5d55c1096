import { kill, processes } from '../../engine/cleanup.ts';
import type { TestDaemon, TestDaemonOptions } from '../../engine/daemon.ts';
import { sleep, until } from '../../engine/http.ts';
import { TestSwarm } from './test-swarm.ts';

/** How a leader is lost: daemon and store killed, the daemon alone, or the cable of both pulled. */
export const LOSSES = ['host', 'daemon', 'cable'] as const;
export type Loss = (typeof LOSSES)[number];

/** Milliseconds from the loss on, as a client of another manager saw them. */
export interface FailOver {
  /** Until a change of a service was accepted that was asked for at once. */
  writeMs: number;
  /** Until a task that this change asked for was on a node, and until it ran. */
  plannedMs: number;
  runningMs: number;
}

interface Task {
  ID: string;
  NodeID?: string;
  Slot?: number;
  Status: { State: string };
}

const SERVICE = 'steady';
const REPLICAS = 3;
const LOOK_MS = 10;
/** Everything is as it was: a node may have to be taken for down and come back. */
const WHOLE_MS = 120_000;

/** Three managers with a service of three tasks, whose leader is lost again and again. */
export class FailOvers implements AsyncDisposable {
  readonly swarm: TestSwarm;

  private constructor(swarm: TestSwarm) {
    this.swarm = swarm;
  }

  static async start(options: TestDaemonOptions = {}): Promise<FailOvers> {
    const failOvers = new FailOvers(
      await TestSwarm.start(3, { config: { 'log-level': 'info' }, ...options }),
    );
    const { swarm } = failOvers;
    try {
      await swarm.init();
      await swarm.join(2, 'manager');
      await swarm.join(3, 'manager');
      await swarm.node(1).daemon.http.ok('POST', '/services/create', specification(REPLICAS));
      await failOvers.#whole();
      return failOvers;
    } catch (error) {
      await failOvers[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Loses the leader, asks another manager for one more task, and mends all of it. */
  async measure(loss: Loss): Promise<FailOver> {
    const lost = await this.leader();
    const asked = this.swarm.node((lost % 3) + 1).daemon;
    const before = new Set((await tasksOf(asked)).map(({ ID }) => ID));
    await this.#lose(lost, loss);
    const startMs = performance.now();
    await untilAccepted(asked, REPLICAS + 1);
    const writeMs = performance.now() - startMs;
    let plannedMs: number | undefined;
    for (;;) {
      const made = (await tasksOf(asked)).find(({ ID, Slot }) => !before.has(ID) && Slot === REPLICAS + 1);
      plannedMs ??= made?.NodeID === undefined ? undefined : performance.now() - startMs;
      if (plannedMs !== undefined && made?.Status.State === 'running') {
        break;
      }
      if (performance.now() - startMs > WHOLE_MS) {
        throw new Error(`n${lost} was lost (${loss}), and no task ran after ${WHOLE_MS / 1000} s`);
      }
      await sleep(LOOK_MS);
    }
    const runningMs = performance.now() - startMs;
    await this.#mend(lost, loss);
    await untilAccepted(asked, REPLICAS);
    await this.#whole();
    return { writeMs, plannedMs, runningMs };
  }

  /** The number of the node that leads, as the first manager sees it. */
  async leader(): Promise<number> {
    const nodes = await this.swarm
      .node(1)
      .daemon.http.ok<{ Description: { Hostname: string }; ManagerStatus?: { Leader?: boolean } }[]>(
        'GET',
        '/nodes',
      );
    const leader = nodes.find(({ ManagerStatus }) => ManagerStatus?.Leader === true);
    return Number(leader?.Description.Hostname.slice(1));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.swarm[Symbol.asyncDispose]();
  }

  async #lose(number: number, loss: Loss): Promise<void> {
    const { daemon } = this.swarm.node(number);
    if (loss === 'cable') {
      this.swarm.lan.plug(number, 'out');
      return;
    }
    // Both before anything else runs here: neither sees the other's end.
    const store = loss === 'host' ? storeOf(daemon) : undefined;
    kill(daemon.pid);
    if (store !== undefined) {
      kill(store);
    }
  }

  async #mend(number: number, loss: Loss): Promise<void> {
    if (loss === 'cable') {
      this.swarm.lan.plug(number, 'in');
      return;
    }
    const { daemon } = this.swarm.node(number);
    await daemon.ended();
    await daemon.up();
  }

  /** All managers follow, all nodes are ready, the service has its tasks, as each manager says. */
  async #whole(): Promise<void> {
    for (const { daemon } of this.swarm.nodes) {
      await until('the swarm to be whole', () => isWhole(daemon).catch(() => false), WHOLE_MS);
    }
  }
}

async function isWhole(daemon: TestDaemon): Promise<boolean> {
  const nodes = await daemon.http.ok<
    { Status: { State: string }; ManagerStatus?: { Leader?: boolean; Reachability: string } }[]
  >('GET', '/nodes');
  const tasks = await tasksOf(daemon);
  return (
    nodes.length === 3 &&
    nodes.every(
      ({ Status, ManagerStatus }) => Status.State === 'ready' && ManagerStatus?.Reachability === 'reachable',
    ) &&
    nodes.filter(({ ManagerStatus }) => ManagerStatus?.Leader === true).length === 1 &&
    tasks.length === REPLICAS &&
    tasks.every(({ Status }) => Status.State === 'running')
  );
}

/** The store of a daemon: a process of its own. */
function storeOf({ paths }: TestDaemon): number {
  const found = processes().find(({ commandLine }) => commandLine.includes(`--data-dir=${paths.dataRoot}`));
  if (found === undefined) {
    throw new Error(`no store runs in ${paths.dataRoot}`);
  }
  return found.pid;
}

async function untilAccepted({ http }: TestDaemon, replicas: number): Promise<void> {
  for (;;) {
    const { Version } = await http.ok<{ Version: { Index: number } }>('GET', `/services/${SERVICE}`);
    const { status, text } = await http.request(
      'POST',
      `/services/${SERVICE}/update?version=${Version.Index}`,
      {
        body: specification(replicas),
      },
    );
    if (status === 200) {
      return;
    }
    if (status < 500) {
      throw new Error(`update ${SERVICE}: ${status} ${text}`);
    }
    await sleep(LOOK_MS);
  }
}

async function tasksOf({ http }: TestDaemon): Promise<Task[]> {
  const filters = encodeURIComponent(JSON.stringify({ service: [SERVICE], 'desired-state': ['running'] }));
  return await http.ok<Task[]>('GET', `/tasks?filters=${filters}`);
}

function specification(replicas: number): unknown {
  return {
    Name: SERVICE,
    TaskTemplate: {
      ContainerSpec: {
        Image: 'busybox:latest',
        Command: ['sh', '-c', 'trap exit TERM; sleep 3600 & wait'],
      },
      Networks: [{ Target: 'none' }],
    },
    Mode: { Replicated: { Replicas: replicas } },
  };
}
