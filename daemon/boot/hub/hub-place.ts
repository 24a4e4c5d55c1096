import type { IncomingMessage, ServerResponse } from 'node:http';
import { answerAway } from '../../../api/hub/away.ts';
import type { Entrance, HubApi } from '../../../api/hub/hub-api.ts';
import type { OtherManagers, RecordsGuest, RecordsPlace } from '../../../swarm/records/ports.ts';
import type { SwarmRecords } from '../../../swarm/records/swarm-records.ts';
import type { Clock } from '../../base/clock.ts';
import { KeyedMutex } from '../../base/concurrency/mutex.ts';
import { pause } from '../../base/concurrency/pause.ts';
import { withTimeout } from '../../base/concurrency/timeout.ts';
import { errorText } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/logger.ts';
import { bringLog, takeLog, type MovedLogDatabase } from '../../hub/deliveries/shared/moved-log.ts';
import { SharedLog } from '../../hub/deliveries/shared/shared-log.ts';
import { GatedRecords } from '../../hub/records/gated-records.ts';
import type { Arrivals } from '../../hub/registry/peers/arrivals.ts';
import type { LocalSet } from '../../hub/records/move/local-set.ts';
import { moveIn } from '../../hub/records/move/move-in.ts';
import { moveOut } from '../../hub/records/move/move-out.ts';
import type { Records } from '../../hub/records/port.ts';
import type { Aside } from './aside.ts';
import type { EngineHub } from './engine-hub.ts';
import { standingOf, type Membership, type Standing } from './standing.ts';

/** A hub over the records of one place, until it is disposed of. */
export interface OpenHub extends EngineHub, Disposable {
  api: HubApi;
  /** What other hosts bring. */
  arrivals: Pick<Arrivals, 'offered' | 'take'>;
}

/** What the hub changes goes through gates, which are closed before it is. */
export type Gate = (records: Records) => Records;

/** How a hub is made over the records of this host, or of its swarm. */
export interface HubOpener {
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

interface Current {
  hub: OpenHub;
  gates: readonly GatedRecords[];
}

/** The names of what the hub keeps in the store of a swarm. */
const RECORDS = 'hub';
const DELIVERIES = 'hub-deliveries';

/**
 * Where the hub has its records: on this host, or in the swarm that the host is a manager of. A change of the place
 * ends the hub, takes the records along where they go with it, and opens another one. Requests that come meanwhile
 * wait.
 */
export class HubPlace implements RecordsGuest, HubApi, AsyncDisposable {
  readonly #deps: Deps;
  readonly #turns = new KeyedMutex();
  #opener: HubOpener | undefined;
  #place: RecordsPlace | undefined;
  #sets: SwarmSets | undefined;
  #isLeaving = false;
  #isClosed = false;
  /** What is to be, and is once no turn is under way. */
  #wanted: Standing | undefined;
  #stop = new AbortController();
  #current: Current | undefined;
  /** Ends with the move that is under way. */
  #moving: Promise<void> = Promise.resolve();
  #trouble = '';
  readonly #listeners: (() => void)[] = [];

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Opens the hub where its records are. Where that is this host, throws what keeps it from being opened. */
  async start(opener: HubOpener): Promise<void> {
    this.#opener = opener;
    this.changed();
    if (this.#wanted?.kind === 'host') {
      await this.#moving;
      if (this.#current === undefined && this.#trouble !== '') {
        throw new Error(this.#trouble);
      }
    }
  }

  /** Undefined while there is none. */
  get hub(): OpenHub | undefined {
    return this.#current?.hub;
  }

  /** Other hosts have the same records. */
  get isShared(): boolean {
    return this.#wanted?.kind === 'swarm';
  }

  /** Calls back whenever the hub was opened. */
  whenOpened(listener: () => void): void {
    this.#listeners.push(listener);
  }

  handle(req: IncomingMessage, res: ServerResponse, entrance: Entrance, url: string): void {
    const now = this.#current;
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
    if (this.#current === undefined || !this.isShared || !local.hasAccounts) {
      return [];
    }
    const names = local.accountNames.slice(0, limits.hubNamesSaid).join(', ');
    return [
      `the hub of this host had accounts of its own (${names}): they are kept aside while it is in the swarm`,
    ];
  }

  opened(place: RecordsPlace): void {
    this.#place = place;
    this.#sets = { records: place.open(RECORDS), deliveries: place.open(DELIVERIES) };
    this.changed();
  }

  async leaving(others: OtherManagers): Promise<void> {
    const [place, sets] = [this.#place, this.#sets];
    if (place === undefined || sets === undefined) {
      return;
    }
    this.#isLeaving = true;
    try {
      await this.#stopped(async () => {
        if (others !== 'some') {
          await this.#takeOut(place, sets, others);
        }
      });
    } catch (error) {
      this.#isLeaving = false;
      this.changed();
      throw error;
    }
  }

  async closed(): Promise<void> {
    this.#place = undefined;
    this.#sets = undefined;
    this.#isLeaving = false;
    await this.#stopped(() => Promise.resolve());
    this.changed();
  }

  changed(): void {
    if (this.#opener === undefined || this.#isClosed || this.#isLeaving) {
      return;
    }
    const wanted = standingOf(this.#place, this.#deps.membership());
    if (wanted.kind === this.#wanted?.kind && wanted.place === this.#wanted.place) {
      this.#wanted = wanted;
      return;
    }
    this.#wanted = wanted;
    this.#stop.abort();
    const stop = new AbortController();
    this.#stop = stop;
    this.#moving = this.#turns.run('', () => this.#go(wanted, stop.signal));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#stop.abort();
    await this.#turns.run('', () => this.#close());
  }

  async #handleLater(
    req: IncomingMessage,
    res: ServerResponse,
    entrance: Entrance,
    url: string,
  ): Promise<void> {
    await withTimeout(this.#deps.clock, this.#settled(), limits.hubPlaceWaitMs);
    if (this.#current === undefined) {
      answerAway(res, this.reason);
    } else {
      this.#current.hub.api.handle(req, res, entrance, url);
    }
  }

  /** No move is under way any more, nor is one about to begin. */
  async #settled(): Promise<void> {
    for (let moving: Promise<void> | undefined; moving !== this.#moving;) {
      moving = this.#moving;
      await moving;
      // What ended the hub says next where it goes on.
      await new Promise(setImmediate);
    }
  }

  /** Ends the hub, does what is to be done without one, and leaves it to `changed` to open the next. */
  #stopped(act: () => Promise<void>): Promise<void> {
    this.#wanted = undefined;
    this.#stop.abort();
    const stopped = this.#turns.run('', async () => {
      await this.#close();
      await act();
    });
    // Whoever asked for it is told; requests only wait for its end.
    this.#moving = stopped.catch(() => undefined);
    return stopped;
  }

  /** Never rejects. */
  async #go(wanted: Standing, signal: AbortSignal): Promise<void> {
    await this.#close();
    for (this.#trouble = ''; !signal.aborted && wanted.kind !== 'away';) {
      try {
        this.#current = await this.#open(wanted);
        this.#trouble = '';
        this.#listeners.forEach((listener) => listener());
        return;
      } catch (error) {
        this.#trouble = errorText(error);
        this.#deps.log.warn({ reason: this.#trouble }, 'the hub could not be opened where its records are');
        if (wanted.kind === 'host') {
          return;
        }
      }
      await pause(this.#deps.clock, limits.hubPlaceRetryMs, signal);
    }
  }

  async #open(wanted: Standing): Promise<Current | undefined> {
    const opener = this.#opener;
    if (opener === undefined || wanted.kind === 'away') {
      return undefined;
    }
    const gates: GatedRecords[] = [];
    const gate: Gate = (records) => {
      const gated = new GatedRecords(records);
      gates.push(gated);
      return gated;
    };
    const { local, deliveries, log } = this.#deps;
    if (wanted.kind === 'host') {
      local.use();
      return { hub: await opener.overHost(gate), gates };
    }
    const { place } = wanted;
    const { node, cluster } = place;
    const sets = this.#sets;
    if (sets === undefined) {
      return undefined;
    }
    const isNode = (id: string): boolean => place.isNode(id);
    const bring = (): Promise<void> => bringLog(deliveries, local, sets.deliveries);
    await moveIn({ local, shared: sets.records, node, cluster, isNode, bring, log });
    return { hub: await opener.overSwarm(place, sets, gate), gates };
  }

  async #close(): Promise<void> {
    const current = this.#current;
    this.#current = undefined;
    if (current !== undefined) {
      await Promise.all(current.gates.map((gate) => gate.close()));
      current.hub[Symbol.dispose]();
    }
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

  /** Why there is no hub. */
  get reason(): string {
    const wanted = this.#wanted;
    if (wanted?.kind === 'away') {
      return wanted.reason;
    }
    return `the hub is not ready${this.#trouble === '' ? ': its records go to another place' : `: ${this.#trouble}`}`;
  }
}
