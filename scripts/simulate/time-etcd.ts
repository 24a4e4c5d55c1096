import { once, setMaxListeners } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { systemClock } from '../../daemon/base/clock.ts';
import { pause } from '../../daemon/base/concurrency/pause.ts';
import { boundHeapGrowth } from '../../daemon/base/kernel/processes/heap-growth.ts';
import { silentLogger } from '../../daemon/base/logger.ts';
import { Cluster } from '../../swarm/cluster/cluster.ts';
import { Dispatcher } from '../../swarm/dispatcher/dispatcher.ts';
import { startLeading } from '../../swarm/leader/start-leading.ts';
import type { Write } from '../../swarm/objects/parts.ts';
import { TaskState } from '../../swarm/objects/task-state.ts';
import type { SessionMessage } from '../../swarm/protocol/session.ts';
import { EtcdProcess } from '../../swarm/store/etcd-process/etcd-process.ts';
import { EtcdChannel } from '../../swarm/store/etcd/channel.ts';
import { EtcdStore } from '../../swarm/store/etcd/etcd-store.ts';
import { rssKb } from '../bench/memory.ts';
import { clusterWrite, nodeWrites, serviceWrites } from '../../test/support/swarm/builders.ts';
import { Facts } from '../../test/support/swarm/dispatched-node.ts';
import { SeededRandom } from '../../test/support/seeded-random.ts';

/** Nodes need not say that they live. */
const SILENT = { Dispatcher: { HeartbeatPeriod: 3600e9 } };
/** Looking at all tasks costs time as well. */
const POLL_MS = 20;
/** A leader that has just decided waits for more before it decides again. */
const REST_MS = 200;

/**
 * How long it takes until the tasks of a large cluster are assigned, and run, in a store that is etcd; lines to print.
 * Leader and dispatcher are as they are, nodes answer at once.
 */
export async function timeWithEtcd(size: {
  nodes: number;
  services: number;
  tasks: number;
}): Promise<string[]> {
  // As the daemon does.
  boundHeapGrowth();
  // Timers of the clock keep no process alive.
  const alive = setInterval(() => undefined, 1_000);
  const directory = mkdtempSync('/tmp/berth-simulate-');
  const peerUrl = `http://127.0.0.1:${await freePort()}`;
  const etcd = await EtcdProcess.start(
    { clock: systemClock, etcd: '/usr/bin/etcd', runDirectory: path.join(directory, 'run') },
    {
      name: 'm',
      dataDirectory: path.join(directory, 'data'),
      peerUrl,
      listenPeerUrl: peerUrl,
      raft: {},
      cluster: { state: 'new', token: 'simulate', peers: [{ name: 'm', peerUrl }] },
    },
  );
  try {
    const ended = etcd.ended.then(async () => {
      throw new Error(await etcd.lastWords());
    });
    const lines = await Promise.race([ended, measure(path.join(directory, 'run/etcd:1'), size)]);
    return [...lines, `etcd: ${Math.round(rssKb(etcd.process.pid) / 1024)} MiB resident`];
  } finally {
    await etcd.kill();
    clearInterval(alive);
    rmSync(directory, { recursive: true, force: true });
  }
}

async function measure(
  socket: string,
  { nodes, services, tasks }: { nodes: number; services: number; tasks: number },
): Promise<string[]> {
  using channel = new EtcdChannel(socket);
  const [clock, logger, random] = [systemClock, silentLogger, new SeededRandom(1)];
  await using store = new EtcdStore({ clock, channel });
  await using cluster = await Cluster.open({ clock, logger, store });
  const dispatcher = new Dispatcher({
    clock,
    logger,
    random,
    cluster,
    facts: new Facts(),
    unseal: (_key, sealed) => sealed,
    dial: () => {
      throw new Error('there is one manager');
    },
  });
  const ids = Array.from({ length: nodes }, (_, index) => `n${index}`);
  await writeAll(cluster, [clusterWrite(SILENT), ...ids.flatMap((id) => nodeWrites(id))]);
  await using leadership = startLeading({
    clock,
    random,
    logger,
    cluster,
    nodeId: 'm',
    addr: 'm:2377',
    loops: [dispatcher],
  });
  await until(() => leadership.leading !== undefined);
  const ended = new AbortController();
  setMaxListeners(0, ended.signal);
  ids.forEach((id) => void attend(dispatcher, id, ended.signal));
  const created = performance.now();
  const tenths = assignedTenths(cluster, services * tasks);
  const create = async (id: string, replicas: number): Promise<void> =>
    void (await cluster.commit({
      conditions: [],
      parts: serviceWrites(id, { Mode: { Replicated: { Replicas: replicas } } }),
    }));
  for (let service = 0; service < services; service += 1) {
    await create(`s${service}`, tasks);
  }
  const all = services * tasks;
  const count = (isMeant: (state: TaskState | undefined, node: string | undefined) => boolean): number =>
    [...cluster.state.tasks.values()].filter((task) => isMeant(task.status?.state, task.record.node)).length;
  await until(() => cluster.state.tasks.size >= all && count((_state, node) => node !== undefined) >= all);
  const assigned = performance.now();
  await until(() => count((state) => state === TaskState.running) >= all);
  const running = performance.now();
  await pause(clock, REST_MS, new AbortController().signal);
  const rested = performance.now();
  await create('more', 10);
  await until(() => [...cluster.state.tasksOf('more')].filter(({ record }) => record.node).length === 10, 1);
  const more = performance.now();
  ended.abort();
  return [
    `${all} tasks on ${nodes} nodes assigned and stored: ${(assigned - created).toFixed(0)} ms`,
    `the last tenth took ${(lengthOf(tenths, 9) / lengthOf(tenths, 0)).toFixed(2)} of the first`,
    `all running: ${(running - created).toFixed(0)} ms`,
    `10 more tasks assigned, after a quiet moment: ${(more - rested).toFixed(0)} ms`,
    `${Math.round(process.memoryUsage.rss() / 2 ** 20)} MiB resident, its nodes among them`,
  ];
}

/** When each tenth of so many tasks had a node, from the beginning on: eleven moments in the end. */
function assignedTenths(cluster: Cluster, all: number): number[] {
  const moments = [performance.now()];
  let assigned = 0;
  cluster.subscribe((changed) => {
    assigned += changed.filter(
      ({ write }) => write.part === 'task' && write.value?.node !== undefined,
    ).length;
    while (assigned >= (moments.length * all) / 10) {
      moments.push(performance.now());
    }
  });
  return moments;
}

function lengthOf(moments: readonly number[], tenth: number): number {
  return (moments[tenth + 1] ?? 0) - (moments[tenth] ?? 0);
}

async function writeAll(cluster: Cluster, writes: readonly Write[]): Promise<void> {
  for (let from = 0; from < writes.length; from += 100) {
    await cluster.commit({ conditions: [], parts: writes.slice(from, from + 100) });
  }
}

/** A node whose tasks run as soon as they are assigned. */
async function attend(dispatcher: Dispatcher, id: string, signal: AbortSignal): Promise<void> {
  const caller = { identity: { node: id, role: 'swarm-worker' as const, cluster: 'c' }, address: '' };
  const [open, report] = ['session.open', 'session.report'].map((name) =>
    dispatcher.methods.find((method) => method.name === name),
  );
  if (open?.kind !== 'stream' || report?.kind !== 'call') {
    throw new Error('the dispatcher has other methods');
  }
  let session = '';
  for await (const value of open.handle({ description: { Hostname: id }, addr: '' }, caller, signal)) {
    // What the stream of sessions has.
    const message = value as SessionMessage;
    if (message.kind === 'welcome') {
      ({ session } = message);
    } else if (message.kind === 'assignments' && message.assignments.tasks.length > 0) {
      const statuses = message.assignments.tasks.map((task) => ({
        id: task.id,
        state: TaskState.running,
        message: 'started',
        container: { id: task.id.repeat(3).slice(0, 64), pid: 4711 },
      }));
      await report.handle({ session, statuses }, caller, signal);
    }
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

async function until(condition: () => boolean, everyMs = POLL_MS): Promise<void> {
  while (!condition()) {
    await new Promise((resolve) => {
      setTimeout(resolve, everyMs);
    });
  }
}
