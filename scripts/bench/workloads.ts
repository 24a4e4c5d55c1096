import type { TestDaemon } from '../../test/support/engine/daemon.ts';
import { sleep } from '../../test/support/engine/http.ts';
import { getFiles, manyFiles, putFiles } from './archives.ts';
import { buildWorkloads } from './builds.ts';
import { buildkitWorkloads } from './buildkit/workloads.ts';
import { controlWorkloads } from './control.ts';
import { create, drainLog, execEcho, remove, runToEnd, start, wait } from './containers.ts';
import { engineProcesses, pssKb } from './memory.ts';
import { failOverWorkloads } from './fail-overs.ts';
import { hubWorkloads } from './hub/workloads.ts';
import { imageWorkloads } from './images.ts';
import { networkWorkloads } from './networks.ts';
import { overlayWorkloads } from './overlay.ts';
import { overlayTaskWorkloads } from './overlay-tasks.ts';
import { fullRegistry, pull, push, registryBeside, removePulled, tagFor } from './registries.ts';
import { swarmWorkloads } from './swarm.ts';
import type { Prepared, Workload } from './workload.ts';

const FILES = manyFiles();
const LOG_BYTES = 64 * 1024 * 1024;
const LOG_LINE = 'a line of output as a chatty service writes it, sixty-four bytes';
const WITHOUT_NETWORK = { NetworkMode: 'none' };
const PUBLISHED = { NetworkMode: 'bridge', PortBindings: { '80/tcp': [{ HostIp: '', HostPort: '' }] } };

export const workloads: readonly Workload[] = [
  ...controlWorkloads,
  ...imageWorkloads,
  ...registryWorkloads(),
  ...networkWorkloads,
  ...buildWorkloads,
  ...buildkitWorkloads,
  ...swarmWorkloads,
  ...overlayWorkloads,
  ...overlayTaskWorkloads,
  ...failOverWorkloads,
  ...hubWorkloads,
  {
    name: 'run-none',
    what: 'create+start+wait+remove, no network',
    unit: 'ms',
    target: 0.25,
    rounds: 15,
    run: ({ http }) => timed(() => runToEnd(http, WITHOUT_NETWORK)),
  },
  {
    name: 'run-bridge',
    what: 'create+start+wait+remove, bridge',
    unit: 'ms',
    target: 0.25,
    rounds: 15,
    run: ({ http }) => timed(() => runToEnd(http, { NetworkMode: 'bridge' })),
  },
  {
    name: 'run-port',
    what: 'create+start+wait+remove, published port',
    unit: 'ms',
    target: 0.25,
    rounds: 15,
    run: ({ http }) => timed(() => runToEnd(http, PUBLISHED)),
  },
  {
    name: 'run-8',
    what: 'eight at a time, no network, per container',
    unit: 'ms',
    target: 0.25,
    rounds: 5,
    run: eightAtATime(WITHOUT_NETWORK),
  },
  {
    name: 'run-8-bridge',
    what: 'eight at a time, bridge, per container',
    unit: 'ms',
    target: 0.25,
    rounds: 5,
    run: eightAtATime({ NetworkMode: 'bridge' }),
  },
  {
    name: 'exec',
    what: 'exec with output',
    unit: 'ms',
    target: 0.6,
    rounds: 20,
    prepare: ({ http }) => sleepers(http, 1),
    run: ({ http }, { ids }) => timed(() => execEcho(http, ids[0] ?? '')),
  },
  {
    name: 'log-write',
    what: 'container writing 64 MB of log lines',
    unit: 'ms',
    target: 0.6,
    rounds: 3,
    run: async ({ http }) => {
      const id = await logger(http);
      const ms = await timed(async () => {
        await start(http, id);
        await wait(http, id);
      });
      await remove(http, id);
      return ms;
    },
  },
  {
    name: 'log-read',
    what: 'reading 64 MB of log lines back',
    unit: 'ms',
    target: 0.3,
    rounds: 3,
    prepare: async ({ http }) => {
      const id = await logger(http);
      await start(http, id);
      await wait(http, id);
      return { ids: [id] };
    },
    run: ({ http }, { ids }) =>
      timed(async () => {
        const bytes = await drainLog(http, ids[0] ?? '');
        if (bytes < LOG_BYTES) {
          throw new Error(`the log has ${bytes} bytes, the container wrote ${LOG_BYTES}`);
        }
      }),
  },
  {
    name: 'archive-put',
    what: 'copying 3,000 files into a running container',
    unit: 'ms',
    target: 0.5,
    rounds: 7,
    run: async ({ http }) => {
      const { ids } = await sleepers(http, 1);
      const [id = ''] = ids;
      const ms = await timed(() => putFiles(http, id, FILES));
      await remove(http, id);
      return ms;
    },
  },
  {
    name: 'archive-get',
    what: 'copying 3,000 files out of a running container',
    unit: 'ms',
    target: 1,
    rounds: 7,
    prepare: async ({ http }) => {
      const prepared = await sleepers(http, 1);
      await putFiles(http, prepared.ids[0] ?? '', FILES);
      return prepared;
    },
    run: ({ http }, { ids }) => timed(() => getFiles(http, ids[0] ?? '')),
  },
  {
    name: 'list',
    what: 'list of 100',
    unit: 'ms',
    target: 0.5,
    rounds: 40,
    prepare: async ({ http }) => {
      const ids: string[] = [];
      for (let index = 0; index < 100; index += 1) {
        ids.push(await create(http, ['true'], WITHOUT_NETWORK));
      }
      return { ids };
    },
    run: ({ http }) => timed(() => http.ok('GET', '/containers/json?all=1')),
  },
  {
    name: 'inspect',
    what: 'inspect',
    unit: 'ms',
    target: 1,
    rounds: 200,
    prepare: ({ http }) => sleepers(http, 1),
    run: ({ http }, { ids }) => timed(() => http.ok('GET', `/containers/${ids[0]}/json`)),
  },
  {
    name: 'ping',
    what: 'ping',
    unit: 'ms',
    target: 1.2,
    rounds: 300,
    run: ({ http }) => timed(() => http.ok('GET', '/_ping')),
  },
  {
    name: 'memory-container',
    what: 'PSS of the monitors per running container',
    unit: 'kB',
    target: 0.3,
    rounds: 1,
    run: (daemon) => perContainer(daemon, ({ monitors }) => monitors),
  },
  {
    name: 'memory-growth',
    what: 'PSS growth of all engine processes per running container',
    unit: 'kB',
    target: null,
    rounds: 1,
    run: (daemon) => perContainer(daemon, ({ growth }) => growth),
  },
];

/** PSS of an engine without containers; measured once, before any workload. */
export const idleMemory = {
  name: 'memory-idle',
  what: 'PSS of an idle engine, all its processes',
  unit: 'kB',
  target: 0.8,
} as const;

async function timed(task: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await task();
  return performance.now() - started;
}

/** The Debian root file system from and to Debian's docker-registry. */
function registryWorkloads(): Workload[] {
  let port = 5000;
  return [
    {
      name: 'pull',
      what: 'pull of a Debian root file system, 500 MB in four layers',
      unit: 'ms',
      target: 0.6,
      rounds: 3,
      prepare: async (daemon) => {
        const registry = await fullRegistry(daemon);
        return { ids: [], end: () => registry[Symbol.asyncDispose]() };
      },
      run: async ({ http }) => {
        const ms = await timed(() => pull(http));
        await removePulled(http);
        return ms;
      },
    },
    {
      name: 'push',
      what: 'push of the same, none of it known',
      unit: 'ms',
      target: 0.8,
      rounds: 3,
      prepare: async (daemon) => {
        await using _registry = await fullRegistry(daemon);
        await pull(daemon.http);
        return { ids: [] };
      },
      run: async (daemon) => {
        port += 1;
        await using registry = await registryBeside(daemon, port);
        await tagFor(daemon.http, registry);
        return await timed(() => push(daemon.http, registry));
      },
    },
  ];
}

function eightAtATime(hostConfig: object): Workload['run'] {
  return async ({ http }) => {
    const ms = await timed(() => Promise.all(Array.from({ length: 8 }, () => runToEnd(http, hostConfig))));
    return ms / 8;
  };
}

async function sleepers(http: TestDaemon['http'], count: number): Promise<Prepared> {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const id = await create(http, ['sleep', '100000'], { NetworkMode: 'bridge' });
    await start(http, id);
    ids.push(id);
  }
  return { ids };
}

function logger(http: TestDaemon['http']): Promise<string> {
  // `yes` repeats its argument with a newline: lines of 64 bytes.
  return create(http, ['sh', '-c', `yes '${LOG_LINE.slice(0, 63)}' | head -c ${LOG_BYTES}`], {
    ...WITHOUT_NETWORK,
    // Both engines keep all of it: left to its defaults, Berth rotates.
    LogConfig: { Type: 'json-file', Config: { 'max-size': '1g' } },
  });
}

const SLEEPERS = 20;

async function perContainer(
  daemon: TestDaemon,
  pick: (kb: { monitors: number; growth: number }) => number,
): Promise<number> {
  const before = engineProcesses(daemon);
  const beforeKb = pssKb(before);
  const { ids } = await sleepers(daemon.http, SLEEPERS);
  await sleep(2000);
  const after = engineProcesses(daemon);
  const monitors = pssKb(after.filter((pid) => !before.includes(pid))) / SLEEPERS;
  const growth = (pssKb(after) - beforeKb) / SLEEPERS;
  await Promise.all(ids.map((id) => remove(daemon.http, id)));
  return pick({ monitors, growth });
}
