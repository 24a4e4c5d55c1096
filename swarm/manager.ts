import { limits } from '../daemon/base/limits.ts';
import { BlobServer } from './blobs/blob-server.ts';
import type { BlobStore } from './blobs/ports.ts';
import { Control, type ManagerFacts } from './control/control.ts';
import { SwarmEvents, type SwarmEventLog } from './control/events/swarm-events.ts';
import { IngressNetwork } from './control/networks/ingress.ts';
import { TaskReporter, type TaskListener } from './control/events/task-news.ts';
import { untilReady } from './control/nodes/until-ready.ts';
import type { HostSubnets, ImageNames, LocalNetwork } from './control/ports.ts';
import { Dispatcher } from './dispatcher/dispatcher.ts';
import { ImageServer } from './images/image-server.ts';
import type { ImageStore } from './images/ports.ts';
import { Compaction } from './leader/compaction.ts';
import { startMemberUpkeep } from './leader/member-upkeep.ts';
import { networkKeysLoop } from './leader/network-keys.ts';
import { startOvertaking } from './leader/overtaking.ts';
import type { Leadership } from './leader/ports.ts';
import { rolloutsLoop, type RolloutPort } from './leader/rollouts.ts';
import { startLeading } from './leader/start-leading.ts';
import { storeMemberOf } from './leader/store-member.ts';
import type { ManagerContext, ManagerPart } from './membership/ports.ts';
import { GuestPlace } from './records/guest-place.ts';
import type { RecordsGuest } from './records/ports.ts';
import type { Method } from './rpc/port.ts';
import { EventReceiver } from './told-events/event-receiver.ts';
import type { NodeEventsListener } from './told-events/ports.ts';
import { validateTemplates } from './templates/container-spec.ts';

/** etcd's word for no member. */
const NO_MEMBER = '0';

/** What a manager asks the engine of its own host. */
export interface ManagerEngine {
  images: ImageNames;
  imageStore: ImageStore;
  blobStore: BlobStore;
  localNetwork: LocalNetwork;
  hostSubnets: HostSubnets;
  /** Where clients of this host hear of the swarm's objects. */
  events: SwarmEventLog;
  /** Who of this host is told what becomes of tasks; undefined = nobody. */
  taskNews?: TaskListener | undefined;
  /** Who of this host is told what happened on other nodes; undefined = nobody. */
  nodeEvents?: NodeEventsListener | undefined;
  /** Who of this host wants to know of rollouts; undefined = nobody. */
  rollouts: RolloutPort | undefined;
  /** What else of the engine keeps records in the store. */
  guest: RecordsGuest;
}

/** The parts of a manager, put together: it answers clients and nodes, and leads when it is elected. */
export class Manager implements ManagerPart {
  readonly control: Control;
  readonly ingress: IngressNetwork;
  readonly #cluster: ManagerContext['cluster'];
  readonly #leadership: Leadership;
  readonly #events: SwarmEvents;
  readonly #tasks: TaskReporter | undefined;
  readonly #served: Disposable;
  readonly #guest: GuestPlace;
  readonly #overtaking: AsyncDisposable;
  readonly #upkeep: AsyncDisposable;

  constructor(context: ManagerContext, engine: ManagerEngine) {
    const { clock, random, logger, cluster, dial, facts, sealer } = context;
    this.#cluster = cluster;
    const dispatcher = new Dispatcher({
      clock,
      random,
      logger,
      cluster,
      facts,
      dial,
      unseal: (key, sealed) => sealer.open(key, sealed),
    });
    const member = storeMemberOf(context);
    this.#served = context.serve([...dispatcher.methods, ...methodsOf(context, engine)]);
    this.ingress = new IngressNetwork({
      clock,
      random,
      logger,
      cluster,
      managers: context.managers,
      ...engine,
    });
    this.#leadership = startLeading({
      clock,
      random,
      logger,
      cluster,
      nodeId: context.nodeId,
      addr: context.addr,
      loops: [
        dispatcher,
        ...context.loops,
        this.ingress,
        networkKeysLoop({ clock, logger, random, sealer }),
        ...(engine.rollouts ? [rolloutsLoop({ clock, logger, rollouts: engine.rollouts })] : []),
        new Compaction({ clock, logger, isFull: () => member.isFull() }),
      ],
    });
    this.#overtaking = startOvertaking({
      clock,
      logger,
      cluster,
      nodeId: context.nodeId,
      storeLeader: () => storeLeaderOf(context),
      answers: (addr) => answers(context, addr),
    });
    this.#upkeep = startMemberUpkeep({ clock, logger, member, turn: () => turnOf(context) });
    const managed = {
      cluster,
      clock,
      managers: context.managers,
      markOf: (node: string) => this.#leadership.leading?.markOf(node),
    };
    this.#events = new SwarmEvents({ ...managed, clusterId: context.clusterId, log: engine.events });
    this.#tasks = reporterOf({ ...managed, nodeId: context.nodeId }, engine.taskNews);
    this.control = new Control({
      ...managed,
      images: engine.images,
      localNetwork: engine.localNetwork,
      hostSubnets: engine.hostSubnets,
      sealer,
      random,
      root: context.authority,
      statusOf: (task) => this.#leadership.leading?.statusOf(task),
      checkTemplates: ({ ContainerSpec }) => ContainerSpec && validateTemplates(ContainerSpec),
      readLogs: (request, signal) => dispatcher.logs(request, signal),
    });
    this.#guest = new GuestPlace(context, engine.guest);
  }

  get facts(): ManagerFacts {
    return this.control.facts();
  }

  /** Resolves when a node is ready for tasks. */
  nodeReady(node: string): Promise<void> {
    return untilReady(this.#cluster, node);
  }

  resign(): Promise<void> {
    return this.#leadership.resign();
  }

  get stays(): string {
    return this.#guest.stays;
  }

  leaving(): Promise<void> {
    return this.#guest.leaving();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#guest[Symbol.asyncDispose]();
    this.#events[Symbol.dispose]();
    this.#tasks?.[Symbol.dispose]();
    await this.#upkeep[Symbol.asyncDispose]();
    await this.#overtaking[Symbol.asyncDispose]();
    await this.#leadership[Symbol.asyncDispose]();
    this.#served[Symbol.dispose]();
  }
}

/** What nodes and other managers call, beside what the dispatcher answers. */
function methodsOf({ clock, cluster }: ManagerContext, engine: ManagerEngine): Method[] {
  const images = new ImageServer({ clock, cluster, store: engine.imageStore });
  const blobs = new BlobServer({ clock, store: engine.blobStore });
  const told = new EventReceiver({ cluster, told: engine.nodeEvents });
  return [images, blobs, told].flatMap(({ methods }) => methods);
}

function reporterOf(
  deps: Omit<ConstructorParameters<typeof TaskReporter>[0], 'told'>,
  told: TaskListener | undefined,
): TaskReporter | undefined {
  return told && new TaskReporter({ ...deps, told });
}

async function storeLeaderOf({ members }: ManagerContext): Promise<string | undefined> {
  const { leader } = await members.status();
  return leader === NO_MEMBER ? undefined : leader;
}

async function answers({ dial }: ManagerContext, addr: string): Promise<boolean> {
  using client = dial(addr);
  return await client.call('manager.ping', undefined, { timeoutMs: limits.swarmLeaderAnswerMs }).then(
    () => true,
    () => false,
  );
}

/** Managers take turns by the order of their ids. */
function turnOf({ nodeId, managers }: ManagerContext): { place: number; of: number } {
  const ids = managers
    .list()
    .map(({ node }) => node)
    .toSorted();
  return { place: Math.max(ids.indexOf(nodeId), 0), of: Math.max(ids.length, 1) };
}
