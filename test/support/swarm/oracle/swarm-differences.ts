import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { ContainerSummary } from '../../../../api/types/container.ts';
import type { NodeInspect } from '../../../../api/types/swarm/node.ts';
import type { ServiceInspect } from '../../../../api/types/swarm/service.ts';
import type { TaskInspect } from '../../../../api/types/swarm/task.ts';
import type { TestDaemon } from '../../engine/daemon.ts';
import { until } from '../../engine/http.ts';
import { differences } from '../../engine/oracle.ts';
import type { TestSwarm } from '../hosts/test-swarm.ts';
import { differing, orphansIn, STATES, tasksIn, valuesOf, type StoredTask } from './objects.ts';
import { etcdOf, memberDifferences, storedBy, type Stored } from './store.ts';

/** A host whose daemon runs and is in the swarm. */
interface Host {
  name: string;
  daemon: TestDaemon;
  node: string;
}

interface Info {
  Swarm: { NodeID: string; LocalNodeState: string };
}

const TASK_LABEL = 'com.docker.swarm.task.id';
/** Agents do not sync these, and make them anew after a restart. */
const ON_THE_WAY = new Set(['assigned', 'accepted', 'preparing', 'ready', 'starting']);

/**
 * Store = API = containers = rows: what Debian's etcdctl reads from each manager's member, against what each manager
 * answers, the containers that each node has, the files that its agent keeps, and what each host's own oracle says. It
 * shares no code with the swarm. One sentence for each difference; a swarm that works is none of these: poll it.
 */
export async function swarmDifferences(swarm: TestSwarm): Promise<string[]> {
  const hosts = await hostsOf(swarm);
  const managers = hosts.filter(({ daemon }) => etcdOf(daemon) !== undefined);
  const stores: [string, Map<string, Stored>][] = [];
  for (const { name, daemon } of managers) {
    stores.push([name, await storedBy(daemon)]);
  }
  const [first, ...others] = stores;
  if (first === undefined) {
    return ['no manager has a store'];
  }
  const tasks = tasksIn(first[1]);
  const found = [...others.flatMap((other) => memberDifferences(first, other)), ...orphansIn(first[1])];
  for (const manager of managers) {
    found.push(...(await apiDifferences(manager, first[1], tasks)));
  }
  for (const host of hosts) {
    found.push(...(await hostDifferences(host, tasks)));
  }
  return found;
}

/** Polls until nothing is different. Fails with what still is when it takes too long. */
export async function agrees(swarm: TestSwarm, withinMs: number): Promise<void> {
  let last: string[] = [];
  const isSame = async (): Promise<boolean> => {
    last = await swarmDifferences(swarm).catch((error: unknown) => [String(error)]);
    return last.length === 0;
  };
  await until('store, API, containers and rows to be the same', isSame, withinMs).catch((error: unknown) => {
    throw new Error(`${String(error)}:\n${last.join('\n')}`, { cause: error });
  });
}

async function hostsOf(swarm: TestSwarm): Promise<Host[]> {
  const hosts: Host[] = [];
  for (const { hostname, daemon } of swarm.nodes) {
    if (daemon.isRunning()) {
      const { Swarm } = await daemon.http.ok<Info>('GET', '/info');
      if (Swarm.LocalNodeState === 'active') {
        hosts.push({ name: hostname, daemon, node: Swarm.NodeID });
      }
    }
  }
  return hosts;
}

/** What a manager answers, against the store. Versions are revisions of the store. */
async function apiDifferences(
  { name, daemon: { http } }: Host,
  stored: ReadonlyMap<string, Stored>,
  tasks: readonly StoredTask[],
): Promise<string[]> {
  const services = await http.ok<ServiceInspect[]>('GET', '/services');
  const nodes = await http.ok<NodeInspect[]>('GET', '/nodes');
  const states = valuesOf(stored, 'node', '/state');
  return [
    ...differing(
      `tasks of ${name}`,
      (await http.ok<TaskInspect[]>('GET', '/tasks')).map(told).map(lineOf),
      tasks.map(lineOf),
    ),
    ...differing(
      `services of ${name}`,
      services.map(({ ID, Spec, Version }) => `${ID} ${Spec.Name} ${mode(Spec.Mode)} ${Version.Index}`),
      [...valuesOf(stored, 'service', '/spec')].map(
        ([id, { value, revision }]) => `${id} ${value.spec?.Name} ${mode(value.spec?.Mode)} ${revision}`,
      ),
    ),
    ...differing(
      `nodes of ${name}`,
      nodes.map(
        ({ ID, Spec, Status, Version }) =>
          `${ID} ${Spec.Role} ${Spec.Availability} ${Status.State} ${Version.Index}`,
      ),
      [...valuesOf(stored, 'node', '/spec')].map(
        ([id, { value, revision }]) =>
          `${id} ${value.spec?.Role} ${value.spec?.Availability} ${states.get(id)?.value.state} ${revision}`,
      ),
    ),
    ...(await dataDifferences({ name, http }, stored)),
  ];
}

async function dataDifferences(
  { name, http }: { name: string; http: TestDaemon['http'] },
  stored: ReadonlyMap<string, Stored>,
): Promise<string[]> {
  const found: string[] = [];
  for (const kind of ['secret', 'config'] as const) {
    const list = await http.ok<{ ID: string; Spec: { Name: string } }[]>('GET', `/${kind}s`);
    found.push(
      ...differing(
        `${kind}s of ${name}`,
        list.map(({ ID, Spec }) => `${ID} ${Spec.Name}`),
        [...valuesOf(stored, kind, '/meta')].map(([id, { value }]) => `${id} ${value.spec?.Name}`),
      ),
    );
  }
  const filters = encodeURIComponent(JSON.stringify({ scope: ['swarm'] }));
  const networks = await http.ok<{ Id: string; Name: string }[]>('GET', `/networks?filters=${filters}`);
  return [
    ...found,
    ...differing(
      `networks of ${name}`,
      networks.map(({ Id, Name }) => `${Id} ${Name}`),
      [...valuesOf(stored, 'network', '/spec')].map(([id, { value }]) => `${id} ${value.name}`),
    ),
  ];
}

/** What a node has, against what the store wants of it. */
async function hostDifferences(
  { name, daemon, node }: Host,
  tasks: readonly StoredTask[],
): Promise<string[]> {
  const own = tasks.filter((task) => task.node === node);
  const filters = encodeURIComponent(JSON.stringify({ label: [TASK_LABEL] }));
  const containers = await daemon.http.ok<ContainerSummary[]>(
    'GET',
    `/containers/json?all=1&filters=${filters}`,
  );
  const runs = containers.filter(({ State }) => State === 'running');
  const known = new Map(own.map((task) => [task.id, task.container]));
  return [
    ...differing(
      `containers of ${name} that run`,
      runs.map(({ Id, Labels }) => `${Labels[TASK_LABEL]} ${Id}`),
      own.filter(({ state }) => state === 'running').map(({ id, container }) => `${id} ${container}`),
    ),
    ...containers
      .filter(({ Labels }) => !known.has(Labels[TASK_LABEL] ?? ''))
      .map(({ Id }) => `container ${Id} of ${name} is of no task`),
    ...containers
      .filter(({ Id, Labels }) => ![Id, '', undefined].includes(known.get(Labels[TASK_LABEL] ?? '')))
      .map(({ Id, Labels }) => `container ${Id} of ${name} is not the one of its task ${Labels[TASK_LABEL]}`),
    ...differing(
      `files of the agent of ${name}`,
      agentFiles(daemon),
      own.filter(({ state }) => !ON_THE_WAY.has(state)).map(({ id, state }) => `${id} ${state}`),
    ),
    ...(await differences(daemon)).map((sentence) => `${name}: ${sentence}`),
  ];
}

/** Tasks as the agent would have them back at its next start. */
function agentFiles({ paths }: TestDaemon): string[] {
  const folder = path.join(paths.dataRoot, 'swarm/agent/tasks');
  return readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .flatMap((file) => {
      // Written by the agent.
      const { status } = JSON.parse(readFileSync(path.join(folder, file), 'utf8')) as {
        status: { id: string; state: number };
      };
      const state = STATES[status.state] ?? 'none';
      return ON_THE_WAY.has(state) ? [] : [`${status.id} ${state}`];
    });
}

/** As the store would have it. */
function told(task: TaskInspect): StoredTask {
  return {
    id: task.ID,
    service: task.ServiceID ?? '',
    slot: task.Slot,
    node: task.NodeID,
    desired: task.DesiredState ?? '',
    state: task.Status.State,
    container: task.Status.ContainerStatus?.ContainerID ?? '',
    revision: task.Version.Index ?? 0,
  };
}

function lineOf({ id, service, slot, node, desired, state, container, revision }: StoredTask): string {
  // The API leaves out the first slot of a job, which is 0.
  return [id, service, slot || '', node ?? '', desired, state, container, revision].join(' ');
}

function mode(value: unknown): string {
  return JSON.stringify(value);
}
