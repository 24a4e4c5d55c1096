import { readFileSync } from 'node:fs';
import type { TestDaemon } from '../../test/support/engine/daemon.ts';
import { sleep } from '../../test/support/engine/http.ts';
import { create, remove, start } from './containers.ts';
import { engineProcesses } from './memory.ts';
import type { Workload } from './workload.ts';

const WITHOUT_NETWORK = { NetworkMode: 'none' };
const SLEEPER = ['sleep', '100000'];
/** Ends at once when asked to; the shell waits, so that a signal need not wait for its child. */
const POLITE = ['sh', '-c', 'trap "exit 0" TERM; sleep 100000 & wait'];
const STREAMS = 100;
const STREAM_SECONDS = 5;
const STARTS = 100;
const RESTART_CONTAINERS = 50;
const AFTER_RESTART_MS = 1000;

/** Ending containers, watching them, and what an engine does with many at once. */
export const controlWorkloads: readonly Workload[] = [
  {
    name: 'stop-remove',
    what: 'stop + remove of a running container',
    unit: 'ms',
    target: 0.4,
    rounds: 15,
    run: async ({ http }) => {
      const id = await create(http, POLITE, WITHOUT_NETWORK);
      await start(http, id);
      // Its trap must be set: without it the first process ignores the signal.
      await sleep(100);
      const started = performance.now();
      await http.ok('POST', `/containers/${id}/stop`);
      await remove(http, id);
      return performance.now() - started;
    },
  },
  {
    name: 'stats',
    what: 'statistics, one-shot',
    unit: 'ms',
    target: 1,
    rounds: 100,
    prepare: ({ http }) => sleepers(http, 1),
    run: async ({ http }, { ids }) => {
      const started = performance.now();
      await http.ok('GET', `/containers/${ids[0]}/stats?stream=0&one-shot=1`);
      return performance.now() - started;
    },
  },
  {
    name: 'stats-20',
    what: `processor time per second for ${STREAMS} streams of 20 containers`,
    unit: 'ms',
    target: 0.6,
    rounds: 1,
    prepare: ({ http }) => sleepers(http, 20),
    run: watchThem,
  },
  {
    name: 'starts-100',
    what: `${STARTS} containers started at the same time`,
    unit: 'ms',
    target: 1,
    rounds: 1,
    run: async ({ http }) => {
      const ids = await many(STARTS, () => create(http, SLEEPER, WITHOUT_NETWORK));
      const started = performance.now();
      await Promise.all(ids.map((id) => start(http, id)));
      const ms = performance.now() - started;
      await Promise.all(ids.map((id) => remove(http, id)));
      return ms;
    },
  },
  {
    name: 'restart-50',
    what: `kill -9 to the first true answer with ${RESTART_CONTAINERS} running containers`,
    unit: 'ms',
    target: null,
    max: 1000,
    // dockerd ends what runs when it is killed, unless live-restore is on.
    engine: 'berthd',
    rounds: 3,
    prepare: ({ http }) => sleepers(http, RESTART_CONTAINERS),
    run: async (daemon) => {
      const started = performance.now();
      await daemon.restart();
      const running = await daemon.http.ok<unknown[]>('GET', '/containers/json');
      if (running.length !== RESTART_CONTAINERS) {
        throw new Error(`${running.length} of ${RESTART_CONTAINERS} containers run after the restart`);
      }
      const ms = performance.now() - started;
      // What it still does behind its first answers counts for the delay of its event loop.
      await sleep(AFTER_RESTART_MS);
      return ms;
    },
  },
];

async function sleepers(http: TestDaemon['http'], count: number): Promise<{ ids: string[] }> {
  const ids = await many(count, async () => {
    const id = await create(http, SLEEPER, { NetworkMode: 'bridge' });
    await start(http, id);
    return id;
  });
  return { ids };
}

async function many(count: number, make: () => Promise<string>): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) {
    ids.push(await make());
  }
  return ids;
}

/** Milliseconds of processor time that the engine uses in a second while clients watch. */
async function watchThem(daemon: TestDaemon, { ids }: { ids: string[] }): Promise<number> {
  const streams = await Promise.all(
    Array.from({ length: STREAMS }, (_, index) =>
      daemon.http.open('GET', `/containers/${ids[index % ids.length]}/stats`, {
        headers: { Connection: 'close' },
        agent: false,
      }),
    ),
  );
  let bytes = 0;
  for (const stream of streams) {
    stream.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    stream.on('error', () => undefined);
  }
  await sleep(1500);
  const before = cpuMs(daemon);
  await sleep(STREAM_SECONDS * 1000);
  const used = (cpuMs(daemon) - before) / STREAM_SECONDS;
  streams.forEach((stream) => stream.destroy());
  if (bytes < STREAMS * STREAM_SECONDS * 500) {
    throw new Error(`${STREAMS} streams brought ${bytes} bytes`);
  }
  return used;
}

/** User and system time of all processes of an engine (proc(5), stat, fields 14 and 15; ticks of 10 ms). */
function cpuMs(daemon: TestDaemon): number {
  let ticks = 0;
  for (const pid of engineProcesses(daemon)) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      ticks += Number(fields[11]) + Number(fields[12]);
    } catch {
      // Ended meanwhile.
    }
  }
  return ticks * 10;
}
