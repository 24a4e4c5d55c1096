import type { IncomingMessage, ServerResponse } from 'node:http';
import { answerAway } from '../../../api/hub/away.ts';
import type { Entrance, HubApi } from '../../../api/hub/hub-api.ts';
import type { OtherManagers, RecordsGuest, RecordsPlace } from '../../../swarm/records/ports.ts';
import type { SwarmRecords } from '../../../swarm/records/swarm-records.ts';
import type { Clock } from '../../base/clock.ts';
import { withTimeout } from '../../base/concurrency/timeout.ts';
import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/logger.ts';
import { bringLog, takeLog, type MovedLogDatabase } from '../../hub/deliveries/shared/moved-log.ts';
import { SharedLog } from '../../hub/deliveries/shared/shared-log.ts';
import type { Hub } from '../../hub/hub.ts';
import type { AuditTrail } from '../../hub/audit/audit-trail.ts';
import { GatedRecords } from '../../hub/records/gated-records.ts';
import type { Arrivals } from '../../hub/registry/peers/arrivals.ts';
import type { LocalSet } from '../../hub/records/move/local-set.ts';
import { moveIn } from '../../hub/records/move/move-in.ts';
import { moveOut } from '../../hub/records/move/move-out.ts';
import type { Records } from '../../hub/records/port.ts';
import { Placed, type OpenPart } from '../records/placed.ts';
import type { Membership } from '../records/standing.ts';
import type { Aside } from './aside.ts';
import { Departure, type HandOver } from './departure.ts';
import type { EngineHub } from './engine-hub.ts';

/** A hub over the records of one place, until it is disposed of. */
export interface OpenHub extends EngineHub, Disposable {
  api: HubApi;
  /** What other hosts bring. */
  arrivals: Pick<Arrivals, 'offered' | 'take'>;
  audit: Pick<AuditTrail, 'add' | 'recent'>;
  /** See `Hub.userName`. */
  userName: Hub['userName'];
  /** See `Hub.keepCounts`. */
  keepCounts: Hub['keepCounts'];
}

/** What the hub changes goes through gates, which are closed before it is. */
export type Gate = (records: Records) => Records;

/** How a hub is made over the records of this host, or of its swarm. */
export interface HubOpener {
  handOver: HandOver;
  overHost(gate: Gate): Promise<OpenHub>;
  overSwarm(place: RecordsPlace, sets: SwarmSets, gate: Gate): Promise<OpenHub>;
}

/** What the hub keeps in a swarm. */
export interface SwarmSets {
  records: SwarmRecords;
  deliveries: SwarmRecords;
}

interface Deps {
  clock: Clock;
  log: Logger;
  local: LocalSet;
  deliveries: MovedLogDatabase;
  aside: Aside;
  /** Of this node in its swarm; undefined outside of one. */
  membership: () => Membership | undefined;
}

interface Current extends OpenPart {
  hub: OpenHub;
}

/** The names of what the hub keeps in the store of a swarm. */
const RECORDS = 'hub';
const DELIVERIES = 'hub-deliveries';

/** The hub where its records are ({@link Placed}). */
export class HubPlace implements RecordsGuest, HubApi, AsyncDisposable {
  readonly #deps: Deps;
  readonly #placed: Placed<Current, SwarmSets>;
  readonly #departure: Departure;
  #opener: HubOpener | undefined;

  constructor(deps: Deps) {
    this.#deps = deps;
    const { clock, log, membership } = deps;
    this.#departure = new Departure(deps);
    this.#placed = new Placed({
      clock,
      log,
      title: 'the hub',
      membership,
      setsOf: (place) => ({ records: place.open(RECORDS), deliveries: place.open(DELIVERIES) }),
      overHost: () => this.#overHost(),
      overSwarm: (place, sets) => this.#overSwarm(place, sets),
      takeOut: (place, sets, others) => this.#takeOut(place, sets, others),
    });
  }

  /** Opens the hub where its records are. Where that is this host, throws what keeps it from being opened. */
  async start(opener: HubOpener): Promise<void> {
    this.#opener = opener;
    await this.#placed.start();
    this.#departure.start(opener.handOver);
  }

  /** Undefined while there is none. */
  get hub(): OpenHub | undefined {
    return this.#placed.current?.hub;
  }

  /** Other hosts have the same records. */
  get isShared(): boolean {
    return this.#placed.isShared;
  }

  /** Why there is no hub. */
  get reason(): string {
    return this.#placed.reason;
  }

  /** Calls back whenever the hub was opened. */
  whenOpened(listener: () => void): void {
    this.#placed.whenOpened(listener);
  }

  handle(req: IncomingMessage, res: ServerResponse, entrance: Entrance, url: string): void {
    const now = this.#placed.current;
    if (now !== undefined) {
      now.hub.api.handle(req, res, entrance, url);
      return;
    }
    this.#handleLater(req, res, entrance, url).catch((error: unknown) => {
      this.#deps.log.error({ err: error }, 'a request of the hub was not answered');
    });
  }

  /** For `docker info`. */
  warnings(): string[] {
    const { local } = this.#deps;
    if (this.hub === undefined || !this.isShared || !local.hasAccounts) {
      return [];
    }
    const names = local.accountNames.slice(0, limits.hubNamesSaid).join(', ');
    return [
      `the hub of this host had accounts of its own (${names}): they are kept aside while it is in the swarm`,
    ];
  }

  opened(place: RecordsPlace): void {
    this.#placed.opened(place);
  }

  async leaving(others: OtherManagers): Promise<void> {
    if (others === 'some') {
      await this.#departure.leaves();
    }
    await this.#placed.leaving(others);
  }

  async leavingAsWorker(): Promise<void> {
    await this.#departure.leaves();
  }

  /** For whoever takes the last manager out of its swarm. */
  get stays(): string {
    return this.#opener === undefined ? '' : 'the repositories and images of the hub';
  }

  async closed(): Promise<void> {
    await this.#placed.closed();
    this.#departure.changed();
  }

  changed(): void {
    this.#placed.changed();
    this.#departure.changed();
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#departure[Symbol.dispose]();
    return this.#placed[Symbol.asyncDispose]();
  }

  async #handleLater(
    req: IncomingMessage,
    res: ServerResponse,
    entrance: Entrance,
    url: string,
  ): Promise<void> {
    const current = await this.#placed.settled();
    if (current === undefined) {
      answerAway(res, this.reason);
    } else {
      current.hub.api.handle(req, res, entrance, url);
    }
  }

  async #overHost(): Promise<Current> {
    this.#deps.local.use();
    return await this.#gated((opener, gate) => opener.overHost(gate));
  }

  async #overSwarm(place: RecordsPlace, sets: SwarmSets): Promise<Current> {
    const { local, deliveries, log } = this.#deps;
    const { node, cluster } = place;
    const isNode = (id: string): boolean => place.isNode(id);
    const bring = (): Promise<void> => bringLog(deliveries, local, sets.deliveries);
    await moveIn({ local, shared: sets.records, node, cluster, isNode, bring, log });
    return await this.#gated((opener, gate) => opener.overSwarm(place, sets, gate));
  }

  async #gated(open: (opener: HubOpener, gate: Gate) => Promise<OpenHub>): Promise<Current> {
    const opener = this.#opener;
    if (opener === undefined) {
      throw new Error('the hub is opened before it is started');
    }
    const gates: GatedRecords[] = [];
    const hub = await open(opener, (records) => {
      const gated = new GatedRecords(records);
      gates.push(gated);
      return gated;
    });
    return {
      hub,
      close: async () => {
        // A store that does not answer must not hold up the end.
        await withTimeout(this.#deps.clock, hub.keepCounts(), limits.hubLimitsLastMs);
        await Promise.all(gates.map((gate) => gate.close()));
        hub[Symbol.dispose]();
      },
    };
  }

  async #takeOut({ node, cluster }: RecordsPlace, sets: SwarmSets, others: OtherManagers): Promise<void> {
    const { clock, log, local, deliveries, aside } = this.#deps;
    using kept = await SharedLog.open({ records: sets.deliveries, clock, log });
    const count = await moveOut({
      local,
      shared: sets.records,
      node,
      cluster,
      saveAside: async (records) => {
        const file = await aside.save(records);
        log.warn(
          { file },
          'the records that the hub of this host had before are in a file: both cannot be in use',
        );
      },
      take: (isOrigin) => takeLog(deliveries, kept, isOrigin),
    });
    if (count !== undefined) {
      log.info({ records: count, others }, 'the records of the hub are taken out of the swarm');
    }
  }
}
