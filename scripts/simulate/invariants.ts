import { isDeepStrictEqual } from 'node:util';
import { encoded } from '../../swarm/cluster/cluster.ts';
import { NetworkIndex } from '../../swarm/dispatcher/assignments/networks/network-index.ts';
import { NetworkSet } from '../../swarm/dispatcher/assignments/networks/network-set.ts';
import type { ServiceRecord } from '../../swarm/objects/service.ts';
import { isTerminal, TaskState } from '../../swarm/objects/task-state.ts';
import { holdersOf } from '../../swarm/planner/orchestrators/replicated.ts';
import { Planner } from '../../swarm/planner/planner.ts';
import { Scheduler } from '../../swarm/planner/scheduler/scheduler.ts';
import { modeOf } from '../../swarm/planner/service-mode.ts';
import { ClusterState } from '../../swarm/planner/state/cluster-state.ts';
import type { Service, Task } from '../../swarm/planner/state/entries.ts';
import { observedState } from '../../swarm/planner/state/observed.ts';
import { portClaimsOf } from '../../swarm/planner/state/port-claim.ts';
import { SeededRandom } from '../../test/support/seeded-random.ts';
import { KnownNetworks } from '../../test/support/swarm/told-networks.ts';
import type { Write } from '../../swarm/objects/parts.ts';
import type { World } from './world.ts';

/** Everything that does not hold after a time without faults. Empty when all is well. */
export function brokenInvariants(world: World): string[] {
  const state = new ClusterState();
  for (const write of world.store.read()) {
    state.apply(write);
  }
  return [
    ...world.failures,
    ...[...state.services.values()].flatMap(serviceIsServed),
    ...[...state.tasks.values()].flatMap(reasonIsTold),
    ...nodesRunWhatIsStored(world, state),
    ...portsAreUnique(state),
    ...nodesKnowTheirNetworks(world, state),
    ...attachmentsAreThere(world, state),
    ...leaderKnowsTheStore(world, state),
    ...anotherLeaderWouldDoNothing(world, state),
    ...[...state.looseStatuses.keys()].map((id) => `the status of task ${id} is left without it`),
    ...managersKnowTheStore(world),
  ];
}

function serviceIsServed(service: Service): string[] {
  const { id, record } = service;
  if (record === undefined) {
    return service.tasks.size === 0 ? [] : [`tasks of the removed service ${id} are left`];
  }
  const wanted = [...service.tasks].filter((task) => task.record.desired <= TaskState.complete);
  // Start-first on a paused node: the old one runs until the new one finds a place.
  const placed = new Set(wanted.filter((task) => task.record.node !== undefined));
  const crowded = [...service.slots].filter(
    ([, tasks]) => tasks.filter((task) => placed.has(task)).length > 1,
  );
  const idle = [...placed].filter((task) => observedState(task) !== task.record.desired);
  const waits = placed.size < wanted.length;
  const update = service.run?.update?.state;
  const isUpdating = update === 'updating' || update === 'rollback_started';
  return [
    ...crowded.map(([slot]) => `slot ${slot} of ${id} is wanted twice`),
    ...idle.map((task) => `task ${task.id} of ${id} does not do what it is for: ${describe(task)}`),
    ...slotsAreThere(service, record, waits),
    ...(isUpdating && !waits ? [`the update of ${id} does not end`] : []),
  ];
}

function slotsAreThere(service: Service, record: ServiceRecord, waits: boolean): string[] {
  const mode = modeOf(record.spec);
  const { id, slots } = service;
  if (mode.kind === 'replicated') {
    const held = [...slots.values()].filter((tasks) => holdersOf(tasks, record).length > 0).length;
    return held === mode.replicas ? [] : [`${id} wants ${mode.replicas} slots and has ${held}`];
  }
  if (mode.kind === 'replicatedJob') {
    const old = [...service.tasks].filter((task) => task.record.iteration !== record.job?.iteration);
    const used = slots.size;
    return [
      ...old.map((task) => `task ${task.id} of ${id} is of an old iteration`),
      ...(used === mode.completions || waits
        ? []
        : [`${id} wants ${mode.completions} slots and has ${used}`]),
    ];
  }
  return [];
}

function describe({ record, status }: Task): string {
  return JSON.stringify({ record, status });
}

function reasonIsTold(task: Task): string[] {
  const { node, desired, refusal } = task.record;
  if (node === undefined && desired <= TaskState.complete && (refusal?.error ?? '') === '') {
    return [`task ${task.id} waits and does not say why`];
  }
  const isStopping = desired > TaskState.complete && node !== undefined && !isTerminal(observedState(task));
  return isStopping ? [`task ${task.id} is not stopped: ${describe(task)}`] : [];
}

function nodesRunWhatIsStored(world: World, state: ClusterState): string[] {
  const stored = [...state.tasks.values()]
    .filter((task) => observedState(task) === TaskState.running)
    .map(({ id, record }) => `${id} on ${record.node}`);
  const real = [...world.nodes.values()].flatMap((node) => node.running.map((id) => `${id} on ${node.id}`));
  const storedOnes = new Set(stored);
  const realOnes = new Set(real);
  return [
    ...stored.filter((task) => !realOnes.has(task)).map((task) => `${task} runs in the store only`),
    ...real.filter((task) => !storedOnes.has(task)).map((task) => `${task} runs on its node only`),
  ];
}

function portsAreUnique(state: ClusterState): string[] {
  const claims = [...state.services.values()].flatMap(({ run }) => portClaimsOf(run?.ports));
  return claims
    .filter((claim, index) => claims.indexOf(claim) !== index)
    .map((claim) => `port ${claim} is given twice`);
}

/** It is no part of what is compared. */
function noDataPath(): { addr: string; port: number } {
  return { addr: '', port: 0 };
}

/** Each node has been told what one is told now that knows nothing. */
function nodesKnowTheirNetworks(world: World, state: ClusterState): string[] {
  const leading = world.leader?.leading;
  const index = new NetworkIndex({
    state,
    statusOf: (task) => leading?.statusOf(task),
    isKnownDown: (node) => leading?.markOf(node)?.state === 'down',
  });
  return [...world.nodes.values()].flatMap(({ id, isUp, networks }) => {
    const whole = new KnownNetworks();
    const set = new NetworkSet({
      node: id,
      index,
      dataPath: noDataPath,
      keysFor: () => undefined,
      touched: () => undefined,
    });
    set.full().forEach((change) => whole.add(change));
    return !isUp || isDeepStrictEqual(networks.known.all, whole.all)
      ? []
      : [
          `node ${id} knows ${JSON.stringify(networks.known.all)} and has to know ${JSON.stringify(whole.all)}`,
        ];
  });
}

/** Containers of nodes have what the store says, and it says nothing of others. */
function attachmentsAreThere(world: World, state: ClusterState): string[] {
  const stored = [...state.attachments.values()].map(
    ({ node, network, container, addresses }) =>
      `${container} on ${node} in ${network}: ${addresses.join(' ')}`,
  );
  const real = [...world.nodes.values()].flatMap(({ id, networks }) =>
    [...networks.containers.values()].map(
      ({ network, container, addresses }) => `${container} on ${id} in ${network}: ${addresses.join(' ')}`,
    ),
  );
  return [
    ...stored.filter((each) => !real.includes(each)).map((each) => `${each} is in the store only`),
    ...real.filter((each) => !stored.includes(each)).map((each) => `${each} is on its node only`),
  ];
}

function byId<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map].toSorted(([a], [b]) => (a < b ? -1 : 1));
}

/** What services, attachments and nodes have. */
function heldIn({ services, attachments, nodeAddresses }: ClusterState): unknown {
  return [
    byId(services).map(([id, { run }]) => [id, run?.vips, run?.ports]),
    byId(attachments),
    byId(nodeAddresses),
  ];
}

/** The picture that the leader has kept up to date is that of one who reads the store now. */
function leaderKnowsTheStore(world: World, state: ClusterState): string[] {
  const known = world.leader?.leading?.state;
  const held = [state, known].map((each) => each && heldIn(each));
  if (!isDeepStrictEqual(held[0], held[1])) {
    return [`the store says ${JSON.stringify(held[0])}, the leader ${JSON.stringify(held[1])}`];
  }
  const ids = new Set([...state.tasks.keys(), ...(known?.tasks.keys() ?? [])]);
  return [...ids].flatMap((id) => {
    const [kept, stored] = [known?.tasks.get(id), state.tasks.get(id)].map(pictureOf);
    return isDeepStrictEqual(kept, stored)
      ? []
      : [
          `the leader's picture of task ${id} is ${JSON.stringify(kept)}, the store's ${JSON.stringify(stored)}`,
        ];
  });
}

/** Every manager has what the store has. */
function managersKnowTheStore(world: World): string[] {
  const stored = fingerprintOf(world.store.read());
  return world.managers.flatMap(({ cluster }, index) =>
    cluster !== undefined && fingerprintOf([...cluster.parts()].map(({ write }) => write)) === stored
      ? []
      : [`manager ${index} does not know what is stored`],
  );
}

/** Of values as they are stored: what a manager has written itself it has with other fields first. */
function fingerprintOf(writes: Iterable<Write>): string {
  return [...writes]
    .map((write) => {
      const { key, ...stored } = encoded(write);
      return `${key} ${'value' in stored ? stored.value.toString() : ''}`;
    })
    .toSorted()
    .join('\n');
}

/** States on the way to running are known to the leader alone. */
function pictureOf(task: Task | undefined): unknown {
  return task && [task.record, Math.max(observedState(task), TaskState.starting)];
}

/** Who finds neither a node nor an address tells of one of them. */
function tellsAnotherReason(withoutAddress: ReadonlySet<string>, { part, id, value }: Write): boolean {
  return part === 'task' && value !== null && value.node === undefined && withoutAddress.has(id);
}

function anotherLeaderWouldDoNothing(world: World, state: ClusterState): string[] {
  const withoutAddress = new Set(
    [...state.tasks.values()]
      .filter(({ record }) => record.refusal?.error.startsWith('no available IP'))
      .map(({ id }) => id),
  );
  const planner = new Planner(state, new SeededRandom(1), new Scheduler(1));
  planner.begin();
  return planner
    .plan(world.leader?.now ?? world.queue.now)
    .writes.filter((write) => !tellsAnotherReason(withoutAddress, write))
    .slice(0, 5)
    .map((write) => `another leader would write ${JSON.stringify(write)}`);
}
