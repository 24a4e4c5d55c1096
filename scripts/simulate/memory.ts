import { spawn } from 'node:child_process';
import { readlinkSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { SwarmInspect } from '../../api/types/swarm/swarm.ts';
import { EtcdChannel } from '../../swarm/store/etcd/channel.ts';
import { calls } from '../../swarm/store/etcd/messages.ts';
import { processes } from '../../test/support/engine/cleanup.ts';
import { TestDaemon } from '../../test/support/engine/daemon.ts';
import { sleep } from '../../test/support/engine/http.ts';
import { engineProcesses, peakRssKb, pssKb, resetPeak, rssKb } from '../bench/memory.ts';
import type { FleetState } from './fleet.ts';

const FLEET = path.join(import.meta.dirname, 'fleet.ts');
const ADDR = '127.0.0.1:2377';
const SETTLE_MS = 10_000;
/** Six heartbeats of each node, and once everything that a manager does each half minute. */
const IDLE_MS = 35_000;
const TASKS_PER_SERVICE = 1_000;
const LOOK_MS = 500;
const PATIENCE_MS = 600_000;

/**
 * What a manager and its etcd take of memory: a daemon from dist/ that leads, with nodes that are another process on
 * the other side of its port. Lines to print. Needs root.
 */
export async function measureMemory({ nodes, tasks }: { nodes: number; tasks: number }): Promise<string[]> {
  await using daemon = await TestDaemon.start({ config: { 'log-level': 'warn' } });
  await daemon.loadBusybox();
  await sleep(SETTLE_MS);
  const plainKb = pssKb(engineProcesses(daemon));
  await daemon.http.ok('POST', '/swarm/init', { ListenAddr: ADDR, AdvertiseAddr: ADDR });
  await drainSelf(daemon);
  await sleep(SETTLE_MS);
  const etcd = etcdOf(daemon);
  const idleKb = pssKb([...engineProcesses(daemon), etcd]) - plainKb;
  const lines = [
    `idle: ${mb(plainKb)} without a swarm, ${mb(idleKb)} more as a manager (of these etcd ${mb(pssKb([etcd]))})`,
  ];
  const { ID, JoinTokens } = await daemon.http.ok<SwarmInspect>('GET', '/swarm');
  const begun = performance.now();
  using fleet = startFleet(daemon, [ADDR, JoinTokens.Worker, String(nodes), ID]);
  await soon(`${nodes} sessions`, fleet, () => fleet.state.sessions === nodes);
  lines.push(`${nodes} nodes have joined after ${((performance.now() - begun) / 1000).toFixed(1)} s`);
  await sleep(SETTLE_MS);
  const before = await revisionOf(etcd);
  await sleep(IDLE_MS);
  const writes = (await revisionOf(etcd)) - before;
  lines.push(
    `${nodes} idle nodes: manager ${mb(rssKb(daemon.pid))}, etcd ${mb(rssKb(etcd))} resident; ` +
      `${writes} writes in ${IDLE_MS / 1000} s`,
  );
  for (const pid of [daemon.pid, etcd]) {
    resetPeak(pid);
  }
  const start = performance.now();
  for (let left = tasks, service = 0; left > 0; left -= TASKS_PER_SERVICE, service += 1) {
    await daemon.http.ok(
      'POST',
      '/services/create',
      specification(service, Math.min(left, TASKS_PER_SERVICE)),
    );
  }
  await soon(`${tasks} tasks`, fleet, () => fleet.state.running >= tasks);
  const seconds = (performance.now() - start) / 1000;
  await sleep(SETTLE_MS);
  for (const [name, pid] of Object.entries({ manager: daemon.pid, etcd })) {
    lines.push(
      `${tasks} tasks on ${nodes} nodes, all running after ${seconds.toFixed(1)} s: ` +
        `${name} ${mb(rssKb(pid))} resident, ${mb(peakRssKb(pid))} at most`,
    );
  }
  const warnings = daemon.log().match(/MaxListenersExceededWarning[^\n]*/g) ?? [];
  lines.push(`${warnings.length} warnings of too many listeners`, ...warnings.slice(0, 1));
  return lines;
}

/** Tasks are for the others. */
async function drainSelf({ http }: TestDaemon): Promise<void> {
  const [self] = await http.ok<{ ID: string; Version: { Index: number }; Spec: object }[]>('GET', '/nodes');
  await http.ok('POST', `/nodes/${self?.ID}/update?version=${self?.Version.Index}`, {
    ...self?.Spec,
    Availability: 'drain',
  });
}

function etcdOf({ paths }: TestDaemon): number {
  const found = processes().find(({ commandLine }) => commandLine.includes(`--data-dir=${paths.dataRoot}`));
  if (found === undefined) {
    throw new Error(`no etcd runs in ${paths.dataRoot}`);
  }
  return found.pid;
}

async function revisionOf(etcd: number): Promise<number> {
  using channel = new EtcdChannel(path.join(readlinkSync(`/proc/${etcd}/cwd`), 'etcd:1'));
  const { header } = await channel.ask(calls.status, {});
  return header?.revision ?? 0;
}

interface Fleet extends Disposable {
  readonly state: FleetState;
  readonly hasEnded: boolean;
}

function startFleet(daemon: TestDaemon, args: readonly string[]): Fleet {
  const [file, ...rest] = daemon.netns.enter(
    process.execPath,
    '--import',
    import.meta.resolve('tsx'),
    FLEET,
    ...args,
  );
  const child = spawn(file, rest, { stdio: ['ignore', 'pipe', 'inherit'] });
  let state: FleetState = { sessions: 0, running: 0, trouble: '' };
  createInterface(child.stdout).on('line', (line) => {
    // Printed by `fleet.ts`.
    state = JSON.parse(line) as FleetState;
  });
  return {
    get state() {
      return state;
    },
    get hasEnded() {
      return child.exitCode !== null;
    },
    [Symbol.dispose]: () => child.kill('SIGKILL'),
  };
}

async function soon(what: string, fleet: Fleet, holds: () => boolean): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!holds()) {
    if (fleet.hasEnded || performance.now() > deadline) {
      throw new Error(`${what}: never; the nodes: ${JSON.stringify(fleet.state)}`);
    }
    await sleep(LOOK_MS);
  }
}

function specification(service: number, replicas: number): unknown {
  return {
    Name: `web${service}`,
    TaskTemplate: {
      ContainerSpec: { Image: 'busybox:latest', Command: ['sleep', '3600'], Env: ['A=1', 'B=2'] },
      Networks: [{ Target: 'host' }],
    },
    Mode: { Replicated: { Replicas: replicas } },
  };
}

function mb(kb: number): string {
  return `${(kb / 1000).toFixed(0)} MB`;
}
