import type { ClusterEventsPort } from '../../../api/types/cluster/events.ts';
import type { ClusterTargetsPort } from '../../../api/types/cluster/targets.ts';
import type { Database } from '../../../storage/database/rows.ts';
import type { OtherManagers, RecordsGuest, RecordsPlace } from '../../../swarm/records/ports.ts';
import type { TaskListener } from '../../../swarm/control/events/task-news.ts';
import type { NodeEventsListener } from '../../../swarm/told-events/ports.ts';
import type { SwarmRecords } from '../../../swarm/records/swarm-records.ts';
import type { TaskGate } from '../../cluster/targets/followers/task-gate.ts';
import type { Clock } from '../../base/clock.ts';
import { EngineError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { bringEvents, takeEvents } from '../../cluster/events/storage/move.ts';
import { GatedRecords } from '../../hub/records/gated-records.ts';
import { LocalRecords, type RecordDatabase } from '../../hub/records/local-records.ts';
import { LocalSet, type SetDatabase } from '../../hub/records/move/local-set.ts';
import { moveIn } from '../../hub/records/move/move-in.ts';
import { moveOut } from '../../hub/records/move/move-out.ts';
import type { Records } from '../../hub/records/port.ts';
import type { Aside } from '../hub/aside.ts';
import type { NodeEvents } from './telling/node-events.ts';
import type { TaskTeller } from './telling/task-teller.ts';
import { Placed, type OpenPart } from '../records/placed.ts';
import type { Membership } from '../records/standing.ts';

/** The cluster's objects over the records of one place, until they are disposed of. */
export interface OpenCluster extends AsyncDisposable {
  readonly events: ClusterEventsPort;
  readonly targets: ClusterTargetsPort;
  /** What tasks of labelled services pass. */
  readonly gate: TaskGate;
  /** What checks have found of websites; undefined = they are not checked. */
  websiteStatus(websites: readonly string[]): 'up' | 'down' | undefined;
}

/** What the objects are made over. */
export interface ClusterStores {
  /** Of all but events. Takes no change any more once the place is about to be another. */
  records: Records;
  /** Undefined = on this host alone. */
  swarm: { place: RecordsPlace; events: SwarmRecords } | undefined;
}

export type ClusterOpener = (stores: ClusterStores) => Promise<OpenCluster>;

interface Sets {
  records: SwarmRecords;
  events: SwarmRecords;
}

interface Current extends OpenPart {
  cluster: OpenCluster;
}

interface Deps {
  clock: Clock;
  log: Logger;
  database: Pick<Database, 'clusterRecords' | 'clusterEvents' | 'meta' | 'transaction' | 'synced'>;
  aside: Pick<Aside, 'save'>;
  membership: () => Membership | undefined;
  /** Undefined = there is no cluster interface. */
  taskTeller?: TaskTeller | undefined;
  nodes?: NodeEvents | undefined;
}

/** The names of what the cluster interface keeps in the store of a swarm. */
const RECORDS = 'cluster';
const EVENTS = 'cluster-events';

/** Records that somebody would miss. */
const MISSED = 'target-group/';

/**
 * The cluster's objects where their records are ({@link Placed}). Target groups and events go along with the host into
 * a swarm and out of it.
 */
export class ClusterPlace implements RecordsGuest, AsyncDisposable {
  readonly #deps: Deps;
  readonly #database: RecordDatabase & SetDatabase;
  readonly #local: LocalSet;
  readonly #placed: Placed<Current, Sets>;
  #opener: ClusterOpener | undefined;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#database = ownDatabase(deps.database);
    this.#local = new LocalSet(this.#database, MISSED);
    const { clock, log, membership } = deps;
    this.#placed = new Placed({
      clock,
      log,
      title: 'the cluster interface',
      membership,
      setsOf: (place) => ({ records: place.open(RECORDS), events: place.open(EVENTS) }),
      overHost: () => this.#overHost(),
      overSwarm: (place, sets) => this.#overSwarm(place, sets),
      takeOut: (place, sets, others) => this.#takeOut(place, sets, others),
    });
  }

  /** Opens the objects where their records are. Where that is this host, throws what keeps them from being opened. */
  async start(opener: ClusterOpener): Promise<void> {
    this.#opener = opener;
    await this.#placed.start();
  }

  /** Calls back whenever the objects were opened. */
  whenOpened(listener: () => void): void {
    this.#placed.whenOpened(listener);
  }

  get taskTeller(): TaskTeller | undefined {
    return this.#deps.taskTeller;
  }

  get nodes(): NodeEvents | undefined {
    return this.#deps.nodes;
  }

  /** To be told what happened on other nodes; undefined = nobody wants to know. */
  get nodeEvents(): NodeEventsListener | undefined {
    const { nodes } = this.#deps;
    return nodes && ((node, events) => nodes.take(node, events));
  }

  /** To be told what becomes of tasks; undefined = nobody wants to know. */
  get taskNews(): TaskListener | undefined {
    const { taskTeller } = this.#deps;
    return taskTeller && ((news) => taskTeller.tell(news));
  }

  /** Throws unavailable. */
  get cluster(): OpenCluster {
    const { current, reason } = this.#placed;
    if (current === undefined) {
      throw new EngineError('unavailable', reason);
    }
    return current.cluster;
  }

  /** What tasks of this host pass; undefined while the records are not within reach, or there are none. */
  get gate(): TaskGate | undefined {
    return this.#placed.current?.cluster.gate;
  }

  /** What checks of targets have found of websites; undefined where there are none, or they are not within reach. */
  websiteStatus(websites: readonly string[]): 'up' | 'down' | undefined {
    return this.#placed.current?.cluster.websiteStatus(websites);
  }

  opened(place: RecordsPlace): void {
    this.#placed.opened(place);
  }

  leaving(others: OtherManagers): Promise<void> {
    return this.#placed.leaving(others);
  }

  closed(): Promise<void> {
    return this.#placed.closed();
  }

  changed(): void {
    this.#placed.changed();
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#deps.taskTeller?.[Symbol.dispose]();
    return this.#placed[Symbol.asyncDispose]();
  }

  async #overHost(): Promise<Current> {
    this.#local.use();
    return await this.#opened(new LocalRecords(this.#database), undefined);
  }

  async #overSwarm(place: RecordsPlace, { records, events }: Sets): Promise<Current> {
    const { node, cluster } = place;
    const isNode = (id: string): boolean => place.isNode(id);
    const { log } = this.#deps;
    await moveIn({ local: this.#local, shared: records, node, cluster, isNode, bring: nothing, log });
    const count = await bringEvents({ database: this.#deps.database, shared: events, log });
    if (count > 0) {
      log.info({ events: count }, 'the events of this host are in the swarm now');
    }
    return await this.#opened(records, { place, events });
  }

  async #opened(records: Records, swarm: ClusterStores['swarm']): Promise<Current> {
    if (this.#opener === undefined) {
      throw new Error('the cluster interface is opened before it is started');
    }
    const gated = new GatedRecords(records);
    const cluster = await this.#opener({ records: gated, swarm });
    return {
      cluster,
      close: async () => {
        await gated.close();
        await cluster[Symbol.asyncDispose]();
      },
    };
  }

  async #takeOut(
    { node, cluster }: RecordsPlace,
    { records, events }: Sets,
    others: OtherManagers,
  ): Promise<void> {
    const { log, aside, database } = this.#deps;
    const taken = await takeEvents({ database, shared: events });
    const count = await moveOut({
      local: this.#local,
      shared: records,
      node,
      cluster,
      saveAside: async (own) => {
        const file = await aside.save(own);
        log.warn({ file }, 'target groups that this host had before are in a file: both cannot be in use');
      },
      take: () => undefined,
    });
    if (count !== undefined || taken > 0) {
      log.info(
        { records: count ?? 0, events: taken, others },
        'the records of the cluster interface are taken out of the swarm',
      );
    }
  }
}

/** There is nothing beside the records. */
function nothing(): Promise<void> {
  return Promise.resolve();
}

/** The tables of the cluster interface, where records of the hub would be; their marks have names of their own. */
function ownDatabase(database: Deps['database']): RecordDatabase & SetDatabase {
  const { meta } = database;
  return {
    hubRecords: database.clusterRecords,
    meta: {
      get: (key) => meta.get(`cluster:${key}`),
      set: (key, value) => meta.set(`cluster:${key}`, value),
    },
    transaction: <T>(change: () => T, options?: { durable?: boolean }): T =>
      database.transaction(change, options),
    synced: () => database.synced(),
  };
}
