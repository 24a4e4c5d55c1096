import type { TestDaemon } from '../../test/support/engine/daemon.ts';
import { sleep, until } from '../../test/support/engine/http.ts';
import type { Prepared, Workload } from './workload.ts';

const TASKS = 50;
/** How often a client looks, as the CLI does while it waits. */
const LOOK_MS = 50;
const PATIENCE_MS = 300_000;

/** A swarm of one node. The service is on the host's network: dockerd's services take no other that is there. */
export const swarmWorkloads: readonly Workload[] = [
  {
    name: 'swarm-50',
    what: `a service of ${TASKS} tasks: create to all running`,
    unit: 'ms',
    target: 0.5,
    rounds: 3,
    prepare: beginSwarm,
    run: async (daemon) => {
      const started = performance.now();
      await create(daemon, TASKS);
      await running(daemon, TASKS);
      const took = performance.now() - started;
      await removeService(daemon);
      return took;
    },
  },
  {
    name: 'swarm-50-stop',
    what: `a service of ${TASKS} tasks scaled to none`,
    unit: 'ms',
    target: 0.3,
    rounds: 3,
    prepare: beginSwarm,
    run: async (daemon) => {
      await create(daemon, TASKS);
      await running(daemon, TASKS);
      const started = performance.now();
      await scale(daemon, 0);
      await containersGone(daemon);
      const took = performance.now() - started;
      await removeService(daemon);
      return took;
    },
  },
];

async function beginSwarm({ http }: TestDaemon): Promise<Prepared> {
  await http.ok('POST', '/swarm/init', { ListenAddr: '127.0.0.1:2377', AdvertiseAddr: '127.0.0.1:2377' });
  return {
    ids: [],
    end: async () => {
      await http.ok('POST', '/swarm/leave?force=1');
    },
  };
}

function specification(replicas: number): unknown {
  return {
    Name: 'bench',
    TaskTemplate: {
      // The shell does not wait for its grace period.
      ContainerSpec: { Image: 'busybox:latest', Command: ['sh', '-c', 'trap exit TERM; sleep 3600 & wait'] },
      Networks: [{ Target: 'host' }],
    },
    Mode: { Replicated: { Replicas: replicas } },
  };
}

async function create({ http }: TestDaemon, replicas: number): Promise<void> {
  await http.ok('POST', '/services/create', specification(replicas));
}

async function scale({ http }: TestDaemon, replicas: number): Promise<void> {
  const { Version } = await http.ok<{ Version: { Index: number } }>('GET', '/services/bench');
  await http.ok('POST', `/services/bench/update?version=${Version.Index}`, specification(replicas));
}

async function running({ http }: TestDaemon, count: number): Promise<void> {
  const filters = encodeURIComponent('{"service":["bench"],"desired-state":["running"]}');
  await soon(`${count} tasks`, async () => {
    const tasks = await http.ok<{ Status: { State: string } }[]>('GET', `/tasks?filters=${filters}`);
    return tasks.filter(({ Status }) => Status.State === 'running').length === count;
  });
}

async function containersGone({ http }: TestDaemon): Promise<void> {
  await soon(
    'no running container',
    async () => (await http.ok<unknown[]>('GET', '/containers/json')).length === 0,
  );
}

async function removeService(daemon: TestDaemon): Promise<void> {
  await daemon.http.ok('DELETE', '/services/bench');
  await containersGone(daemon);
  await until(
    'no task',
    async () => (await daemon.http.ok<unknown[]>('GET', '/tasks')).length === 0,
    PATIENCE_MS,
  );
}

async function soon(what: string, holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!(await holds())) {
    if (performance.now() > deadline) {
      throw new Error(`${what}: not within ${PATIENCE_MS / 1000} s`);
    }
    await sleep(LOOK_MS);
  }
}
