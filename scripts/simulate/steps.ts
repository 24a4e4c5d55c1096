import type { ServiceMode, ServiceSpec, UpdateConfig } from '../../api/types/swarm/service.ts';
import type { RestartPolicySpec } from '../../api/types/swarm/task.ts';
import { EngineError } from '../../daemon/base/errors.ts';
import type { Use } from '../../swarm/control/services/data-use.ts';
import { put, remove, type Write } from '../../swarm/objects/parts.ts';
import { templateId, type ServiceRecord } from '../../swarm/objects/service.ts';
import { isJob, modeOf } from '../../swarm/planner/service-mode.ts';
import { SeededRandom } from '../../test/support/seeded-random.ts';
import { useNetworks } from '../../swarm/control/services/networks.ts';
import { pick } from './choose.ts';
import {
  addNetwork,
  attachContainer,
  detachContainer,
  dropNetwork,
  reconnected,
  someEndpoint,
  someNetworks,
} from './network-steps.ts';
import { hostOf, SimulatedNode } from './node.ts';
import type { Member, World } from './world.ts';

/** What a user, a disk or fate does at a moment. `seed` decides the details, so that a step means the same alone. */
export interface Step {
  atMs: number;
  kind: StepKind;
  seed: number;
}

export type StepKind = keyof typeof STEPS;

type Act = (world: World, random: SeededRandom) => void;

const SECOND = 1e9;
const CONSTRAINTS = ['node.labels.zone==east', 'node.labels.zone!=west', 'node.role==worker'];

/** How often each kind comes, and what it does. */
const STEPS = {
  createService: act(3, createService),
  scaleService: act(6, scaleService),
  updateService: act(6, (world, random) => updateService(world, random, 'good')),
  reconnectService: act(6, (world, random) =>
    updateService(world, random, 'good', (spec) => reconnected(world, random, spec)),
  ),
  createNetwork: act(3, addNetwork),
  removeNetwork: act(3, dropNetwork),
  attachContainer: act(10, attachContainer),
  detachContainer: act(6, detachContainer),
  updateBadly: act(3, (world, random) =>
    updateService(world, random, pick(random, ['bad', 'short']) ?? 'bad'),
  ),
  removeService: act(1, removeService),
  crashNode: act(8, (world, random) => pick(random, upNodes(world))?.crash()),
  crashMany: act(1, (world, random) => {
    upNodes(world)
      .filter(() => random.below(5) === 0)
      .forEach((node) => node.crash());
  }),
  bootNode: act(8, (world, random) => pick(random, downNodes(world))?.boot()),
  removeNode: act(1, removeNode),
  addNode: act(1, (world, random) => addNode(world, random, `n${world.nodes.size}x${random.below(1e6)}`)),
  endSession: act(8, (world, random) => pick(random, upNodes(world))?.dial(random.below(40_000))),
  slowNode: act(2, (world, random) => {
    const node = pick(random, upNodes(world));
    if (node !== undefined) {
      node.slowness = random.below(2) === 0 ? 1 : 10;
    }
  }),
  changeAvailability: act(6, changeAvailability),
  changeLabel: act(4, changeLabel),
  killLeader: act(2, (world) => world.leader?.kill()),
  resign: act(1, (world) => world.leader?.resign()),
  killFollower: act(1, (world) => world.managers.find(({ leading }) => leading === undefined)?.kill()),
  killLeaderInPass: act(3, (world, random) => {
    if (world.leader !== undefined) {
      world.leader.commitsLeft = 1 + random.below(3);
    }
  }),
  fillStore: act(4, (world, random) => {
    world.store.isFull = true;
    world.queue.after(1_000 + random.below(20_000), () => (world.store.isFull = false));
  }),
} satisfies Record<string, { weight: number; act: Act }>;

function act(weight: number, does: Act): { weight: number; act: Act } {
  return { weight, act: does };
}

/** So many steps within a time, in order. */
export function drawSteps(random: SeededRandom, count: number, withinMs: number): Step[] {
  // The names are those of the table.
  const kinds = (Object.keys(STEPS) as StepKind[]).flatMap((kind) =>
    Array.from({ length: STEPS[kind].weight }, () => kind),
  );
  return Array.from({ length: count }, () => ({
    atMs: random.below(withinMs),
    kind: kinds[random.below(kinds.length)] ?? 'crashNode',
    seed: random.below(2 ** 31),
  })).toSorted((a, b) => a.atMs - b.atMs);
}

export function perform(world: World, step: Step): void {
  world.note(`step ${step.kind} (${step.seed})`);
  STEPS[step.kind].act(world, new SeededRandom(step.seed));
}

/** A user's transaction. On a full disk the user gives up. */
function store(world: World, writes: readonly Write[], use?: Use): boolean {
  return world.store.write(writes, use);
}

/** Networks that a service comes into are held; undefined where one of them is gone: the user gives up. */
function networksOf(world: World, spec: ServiceSpec, before?: ServiceSpec): Use | undefined {
  try {
    return useNetworks(world.store.cluster, spec, before);
  } catch (error) {
    if (error instanceof EngineError) {
      return undefined;
    }
    throw error;
  }
}

function createService(world: World, random: SeededRandom): void {
  addService(world, random, `svc${random.below(1e9).toString(36)}`, 1 + random.below(20));
}

export function addService(world: World, random: SeededRandom, id: string, replicas: number): void {
  const serviceMode = modeOfSize(random, replicas);
  const mode = modeOf({ Mode: serviceMode });
  const endpoint = someEndpoint(random);
  const spec: ServiceSpec = {
    Name: id,
    TaskTemplate: {
      Networks: someNetworks(world, random),
      ContainerSpec: { Image: 'good:1' },
      RestartPolicy: restartPolicy(random),
      ...(random.below(4) === 0 ? { Placement: { Constraints: [pick(random, CONSTRAINTS) ?? ''] } } : {}),
    },
    Mode: serviceMode,
    ...(isJob(mode) ? {} : { UpdateConfig: updateConfig(random) }),
    ...(endpoint ? { EndpointSpec: endpoint } : {}),
  };
  const { now } = world.queue;
  const record: ServiceRecord = {
    id,
    created: now,
    updated: now,
    spec,
    template: 1,
    templatesIssued: 1,
    ...(isJob(mode) ? { job: { iteration: 0, lastExecution: now } } : {}),
  };
  const use = networksOf(world, spec);
  if (use !== undefined) {
    store(world, [put('service', record), template(record)], use);
  }
}

function modeOfSize(random: SeededRandom, replicas: number): ServiceMode {
  const kind = random.below(10);
  if (replicas >= 100) {
    return { Replicated: { Replicas: replicas } };
  }
  switch (kind) {
    case 0:
      return { Global: {} };
    case 1:
      return { GlobalJob: {} };
    case 2:
      return { ReplicatedJob: { TotalCompletions: replicas, MaxConcurrent: 1 + random.below(5) } };
    default:
      return { Replicated: { Replicas: replicas } };
  }
}

function restartPolicy(random: SeededRandom): RestartPolicySpec {
  return {
    Delay: random.below(8) * SECOND,
    Condition: pick(random, ['any', 'any', 'any', 'on-failure', 'none']) ?? 'any',
    ...(random.below(4) === 0 ? { MaxAttempts: 1 + random.below(3) } : {}),
    ...(random.below(4) === 0 ? { Window: (1 + random.below(60)) * SECOND } : {}),
  };
}

function template({ id, spec, template: revision }: ServiceRecord): Write {
  return put('template', {
    id: templateId(id, revision),
    task: spec.TaskTemplate ?? {},
    ...(spec.EndpointSpec ? { endpoint: spec.EndpointSpec } : {}),
  });
}

function updateConfig(random: SeededRandom): UpdateConfig {
  return {
    Parallelism: random.below(4),
    Delay: random.below(3) * SECOND,
    FailureAction: pick(random, ['pause', 'continue', 'rollback']) ?? 'pause',
    Order: random.below(2) === 0 ? 'stop-first' : 'start-first',
    MaxFailureRatio: random.below(3) * 0.1,
  };
}

function scaleService(world: World, random: SeededRandom): void {
  const service = pick(random, world.store.all('service'));
  const replicas = service?.spec.Mode?.Replicated?.Replicas ?? 0;
  if (service?.spec.Mode?.Replicated !== undefined) {
    const Replicas = Math.max(0, replicas + random.below(1 + replicas) - Math.floor(replicas / 2));
    const spec = { ...service.spec, Mode: { Replicated: { Replicas } } };
    store(world, [put('service', { ...service, spec, updated: world.queue.now })]);
  }
}

function updateService(
  world: World,
  random: SeededRandom,
  image: string,
  changed = (spec: ServiceSpec): ServiceSpec => spec,
): void {
  const service = pick(random, world.store.all('service'));
  if (service === undefined) {
    return;
  }
  const { rollback: _rollback, ...before } = service;
  const revision = service.templatesIssued + 1;
  const next = changed(service.spec);
  const spec = {
    ...next,
    TaskTemplate: { ...next.TaskTemplate, ContainerSpec: { Image: `${image}:${revision}` } },
    ...(service.job ? {} : { UpdateConfig: updateConfig(random) }),
  };
  const record: ServiceRecord = {
    ...before,
    updated: world.queue.now,
    template: revision,
    templatesIssued: revision,
    spec,
    ...(service.job ? { job: { iteration: service.job.iteration + 1, lastExecution: world.queue.now } } : {}),
  };
  const previous = put('previousService', { id: service.id, spec: service.spec, template: service.template });
  const use = networksOf(world, spec, service.spec);
  if (use !== undefined) {
    store(world, [put('service', record), template(record), previous], use);
  }
}

function removeService(world: World, random: SeededRandom): void {
  const service = pick(random, world.store.all('service'));
  if (service !== undefined) {
    store(world, [remove('service', service.id)]);
  }
}

export function addNode(world: World, random: SeededRandom, id: string): void {
  const { now } = world.queue;
  const Labels = { zone: pick(random, ['east', 'west', 'north']) ?? '' };
  const writes = [
    put('node', { id, created: now, updated: now, spec: { Role: 'worker', Availability: 'active', Labels } }),
    put('nodeState', { id, role: 'worker', state: 'ready', message: '', addr: hostOf(id), since: now }),
    put('nodeDescription', { id, description: { Hostname: id } }),
  ];
  if (store(world, writes)) {
    const node = new SimulatedNode(world, id);
    world.nodes.set(id, node);
    node.dial(100);
  }
}

function removeNode(world: World, random: SeededRandom): void {
  const node = pick(random, downNodes(world));
  if (node !== undefined && world.store.get('nodeState', node.id)?.state === 'down') {
    const parts = ['node', 'nodeState', 'nodeDescription'] as const;
    if (
      store(
        world,
        parts.map((part) => remove(part, node.id)),
      )
    ) {
      world.nodes.delete(node.id);
    }
  }
}

function changeAvailability(world: World, random: SeededRandom): void {
  const node = pick(random, world.store.all('node'));
  const Availability = pick(random, ['active', 'active', 'pause', 'drain'] as const) ?? 'active';
  if (node !== undefined) {
    store(world, [put('node', { ...node, spec: { ...node.spec, Availability } })]);
  }
}

function changeLabel(world: World, random: SeededRandom): void {
  const node = pick(random, world.store.all('node'));
  const zone = pick(random, ['east', 'west', 'north']) ?? '';
  if (node !== undefined) {
    store(world, [put('node', { ...node, spec: { ...node.spec, Labels: { zone } } })]);
  }
}

function upNodes(world: World): Member[] {
  return [...world.nodes.values()].filter(({ isUp }) => isUp);
}

function downNodes(world: World): Member[] {
  return [...world.nodes.values()].filter(({ isUp }) => !isUp);
}
