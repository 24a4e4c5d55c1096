import type {
  ClusterEvent,
  ClusterEventsPort,
  EventPage,
  EventPatch,
  EventPreconditions,
  EventSelection,
  EventWatcher,
  EventWrite,
  StoredEvent,
} from '../../../api/types/cluster/events.ts';
import type { Clock } from '../../base/clock.ts';
import { KeyedMutex } from '../../base/concurrency/mutex.ts';
import { pause } from '../../base/concurrency/pause.ts';
import { EngineError, errorText, isEngineError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/logger.ts';
import { CommitQueue } from './commit-queue.ts';
import { EventSet } from './event-set.ts';
import { bodyOf, eventKey, factsOf, knownEvent, parseEvent, type KnownEvent } from './event-text.ts';
import { continued, created, seconds } from './new-event.ts';
import { noteUpdate } from './patch/managed-fields.ts';
import { patchedEvent } from './patch/patched.ts';
import { alreadyExists, badRequest, changedMeanwhile, noSuchEvent } from './problems.ts';
import { expiredEvents, type RetentionRules } from './retention.ts';
import { predicateOf } from './rules/selection.ts';
import { validateCreate, validateUpdate } from './rules/validate.ts';
import type { EventStorage } from './storage/port.ts';
import { Watches } from './watches.ts';

export interface EventsDeps {
  storage: EventStorage;
  clock: Clock;
  log: Logger;
  retention: RetentionRules;
}

/** What an event is to be. */
interface Decision {
  event: ClusterEvent;
  /** Undefined = it is new. */
  before: KnownEvent | undefined;
}

/**
 * Events of the cluster. All of them are in memory and answered from there; a change is decided on what is known,
 * stored together with others that come at the same time, told to watches, and answered when it is durable.
 */
export class ClusterEvents implements ClusterEventsPort, AsyncDisposable {
  readonly #deps: EventsDeps;
  readonly #set = new EventSet();
  readonly #queue: CommitQueue;
  readonly #turns = new KeyedMutex();
  readonly #watches: Watches;
  /** Refusals of the storage: somebody else's change came first. */
  readonly #overtaken = new WeakSet<EngineError>();
  readonly #end = new AbortController();
  #sweep: Disposable | undefined;
  #sweeping: Promise<void> = Promise.resolve();
  #isSweeping = false;
  #isClosed = false;

  /** Reads all events. */
  static async open(deps: EventsDeps): Promise<ClusterEvents> {
    // What is told before the state is known belongs to it.
    const early: (() => void)[] = [];
    let events: ClusterEvents | undefined;
    const when = (act: (opened: ClusterEvents) => void): void => {
      if (events === undefined) {
        early.push(() => events && act(events));
      } else {
        act(events);
      }
    };
    const state = await deps.storage.open({
      onChanges: (changes) => when((opened) => opened.#watches.add(opened.#set.apply(changes))),
      onReset: (anew) =>
        when((opened) => {
          opened.#set.reset(anew);
          opened.#watches.forget(anew.revision);
        }),
    });
    events = new ClusterEvents(deps, state.revision);
    events.#set.reset(state);
    early.forEach((act) => act());
    events.#sweepLater();
    return events;
  }

  private constructor(deps: EventsDeps, revision: number) {
    this.#deps = deps;
    this.#queue = new CommitQueue(deps.storage, deps.clock);
    this.#watches = new Watches(deps.clock, revision);
  }

  get revision(): number {
    return this.#set.revision;
  }

  get told(): number {
    return this.#watches.told;
  }

  get oldest(): number {
    return this.#watches.oldest;
  }

  get(namespace: string, name: string): StoredEvent {
    return this.#known(namespace, name);
  }

  list(selection: EventSelection, { limit = Infinity, after = '' } = {}): EventPage {
    const { namespace } = selection;
    const matches = predicateOf({ ...selection, namespace: undefined });
    const { items, isMore, left } = this.#set.select(matches, { namespace, after, limit });
    return {
      items,
      revision: this.#set.revision,
      next: isMore ? items.at(-1)?.key : undefined,
      remaining: left,
    };
  }

  async create(event: ClusterEvent, write: EventWrite): Promise<StoredEvent> {
    for (let attempt = 1; ; attempt += 1) {
      const made = created(event, this.#now());
      const { name = '', namespace = '' } = made.metadata;
      validateCreate(made, write.fields);
      const isGenerated = event.metadata.name === undefined || event.metadata.name === '';
      try {
        return await this.#turns.run(eventKey(namespace, name), async () => {
          if (this.#set.get(eventKey(namespace, name)) !== undefined) {
            throw alreadyExists(name);
          }
          return await this.#put({ event: this.#owned(undefined, made, write), before: undefined }, write);
        });
      } catch (error) {
        if (!isGenerated || attempt === limits.clusterNamesTried || !isEngineError(error, 'conflict')) {
          throw error;
        }
      }
    }
  }

  async replace(event: ClusterEvent, write: EventWrite): Promise<{ event: StoredEvent; isNew: boolean }> {
    const { namespace = '', name = '', resourceVersion = '' } = event.metadata;
    return await this.#turn(eventKey(namespace, name), async () => {
      const before = this.#set.get(eventKey(namespace, name));
      if (before === undefined) {
        if (resourceVersion !== '') {
          throw noSuchEvent(name);
        }
        return { event: await this.#putNew(event, write), isNew: true };
      }
      return { event: await this.#change(before, event, write), isNew: false };
    });
  }

  async patch(
    namespace: string,
    name: string,
    patch: EventPatch,
  ): Promise<{ event: StoredEvent; isNew: boolean }> {
    return await this.#turn(eventKey(namespace, name), async () => {
      const before = this.#set.get(eventKey(namespace, name));
      const isApply = patch.kind === 'apply';
      if (before === undefined && !isApply) {
        throw noSuchEvent(name);
      }
      const current = before === undefined ? { metadata: { name, namespace } } : parseEvent(before.text);
      const patched = patchedEvent(current, patch, this.#now());
      this.#refuseMoved(namespace, name, patched);
      if (before === undefined) {
        return { event: await this.#putNew(patched, { ...patch, manager: undefined }), isNew: true };
      }
      return { event: await this.#change(before, patched, patch, isApply), isNew: false };
    });
  }

  async remove(
    namespace: string,
    name: string,
    { isDryRun, preconditions }: { isDryRun: boolean; preconditions: EventPreconditions },
  ): Promise<StoredEvent> {
    const key = eventKey(namespace, name);
    return await this.#turn(key, async () => {
      const event = this.#known(namespace, name);
      refuseUnmet(event, preconditions);
      const parsed = parseEvent(event.text);
      const { finalizers = [], deletionTimestamp } = parsed.metadata;
      if (finalizers.length > 0) {
        // Whoever put them there takes them away first.
        const marked = { ...parsed, metadata: { ...parsed.metadata, deletionTimestamp: this.#now() } };
        return deletionTimestamp === undefined && !isDryRun
          ? await this.#put({ event: marked, before: event }, { isDryRun })
          : event;
      }
      if (!isDryRun) {
        await this.#write({ kind: 'delete', key, expected: event.revision }, name);
      }
      return event;
    });
  }

  async removeAll(
    selection: EventSelection,
    { isDryRun, limit }: { isDryRun: boolean; limit?: number },
  ): Promise<EventPage> {
    const page = this.list(selection, limit === undefined ? {} : { limit });
    for (let from = 0; from < page.items.length; from += limits.clusterRemovedAtOnce) {
      const some = page.items.slice(from, from + limits.clusterRemovedAtOnce);
      await Promise.all(some.map((event) => this.#removeIfThere(event, isDryRun)));
    }
    return page;
  }

  watch(selection: EventSelection, from: number, watcher: EventWatcher): Disposable {
    return this.#watches.watch(selection, from, watcher);
  }

  /** Watches end; changes that are under way are answered. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#end.abort();
    this.#sweep?.[Symbol.dispose]();
    this.#watches[Symbol.dispose]();
    await this.#sweeping;
    this.#deps.storage[Symbol.dispose]();
  }

  /**
   * One change of an event at a time. Where another manager's came first, it is decided anew on what the event is now:
   * a client that has named no version hears nothing of it (as kube-apiserver does).
   */
  async #turn<T>(key: string, decide: () => Promise<T>): Promise<T> {
    return await this.#turns.run(key, async () => {
      for (let attempt = 1; ; attempt += 1) {
        const revision = this.#set.get(key)?.revision;
        try {
          return await decide();
        } catch (error) {
          const isOvertaken = error instanceof EngineError && this.#overtaken.has(error);
          if (!isOvertaken || attempt === limits.clusterDecisionsMax || !(await this.#moves(key, revision))) {
            throw error;
          }
        }
      }
    });
  }

  /** Whether it is heard here, before long, that an event is not at a revision any more. */
  async #moves(key: string, revision: number | undefined): Promise<boolean> {
    const { clock } = this.#deps;
    const endMs = clock.monotonicMs() + limits.clusterMovedMs;
    while (this.#set.get(key)?.revision === revision && clock.monotonicMs() < endMs && !this.#isClosed) {
      await pause(clock, limits.clusterMovedLookMs, this.#end.signal);
    }
    return this.#set.get(key)?.revision !== revision;
  }

  #known(namespace: string, name: string): KnownEvent {
    const event = this.#set.get(eventKey(namespace, name));
    if (event === undefined) {
      throw noSuchEvent(name);
    }
    return event;
  }

  async #putNew(event: ClusterEvent, write: EventWrite): Promise<StoredEvent> {
    const made = created(event, this.#now());
    validateCreate(made, write.fields);
    return await this.#put({ event: this.#owned(undefined, made, write), before: undefined }, write);
  }

  async #change(
    before: KnownEvent,
    event: ClusterEvent,
    write: EventWrite,
    isApplied = false,
  ): Promise<StoredEvent> {
    const { uid = '', resourceVersion = '' } = event.metadata;
    refuseUnmet(before, { uid, resourceVersion });
    const was = parseEvent(before.text);
    const next = isApplied
      ? { ...continued(event, was), metadata: { ...continued(event, was).metadata, ...owners(event) } }
      : this.#owned(was, continued(event, was), write);
    validateUpdate(next, was, write.fields);
    if (bodyOf(next) === bodyOf(was)) {
      return before;
    }
    const { finalizers = [], deletionTimestamp } = next.metadata;
    if (deletionTimestamp !== undefined && finalizers.length === 0 && !write.isDryRun) {
      await this.#write({ kind: 'delete', key: before.key, expected: before.revision }, before.name);
      return before;
    }
    return await this.#put({ event: next, before }, write);
  }

  #owned(was: ClusterEvent | undefined, event: ClusterEvent, { manager }: EventWrite): ClusterEvent {
    return noteUpdate(was, event, { manager, now: this.#now() });
  }

  async #put({ event, before }: Decision, { isDryRun }: Pick<EventWrite, 'isDryRun'>): Promise<StoredEvent> {
    const { namespace = '', name = '' } = event.metadata;
    const key = eventKey(namespace, name);
    const body = bodyOf(event);
    const facts = factsOf(event);
    if (isDryRun) {
      return knownEvent(key, body, before?.revision ?? this.#set.revision, facts);
    }
    await this.#write({ kind: 'put', key, body, facts, expected: before?.revision ?? 0 }, name);
    // It was told before it is answered, unless somebody has removed it since.
    return this.#set.get(key) ?? knownEvent(key, body, this.#set.revision, facts);
  }

  async #write(change: Parameters<CommitQueue['write']>[0], name: string): Promise<void> {
    try {
      await this.#queue.write(change);
    } catch (error) {
      if (!isEngineError(error, 'conflict')) {
        throw error;
      }
      const refusal = change.expected === 0 ? alreadyExists(name) : changedMeanwhile(name);
      this.#overtaken.add(refusal);
      throw refusal;
    }
    if (this.#set.size > this.#deps.retention.max * SLACK) {
      this.#sweepNow();
    }
  }

  async #removeIfThere({ namespace, name }: StoredEvent, isDryRun: boolean): Promise<void> {
    try {
      await this.remove(namespace, name, { isDryRun, preconditions: {} });
    } catch (error) {
      if (!isEngineError(error, 'not_found') && !isEngineError(error, 'conflict')) {
        throw error;
      }
    }
  }

  #refuseMoved(namespace: string, name: string, { metadata }: ClusterEvent): void {
    if ((metadata.name ?? name) !== name || (metadata.namespace ?? namespace) !== namespace) {
      throw badRequest('a patch must not change the name or the namespace of an event');
    }
    metadata.name = name;
    metadata.namespace = namespace;
  }

  #now(): string {
    return seconds(this.#deps.clock.nowNano());
  }

  #sweepLater(): void {
    // Not all managers at the same time.
    const delayMs = limits.clusterSweepMs * (1 + Math.random());
    this.#sweep = this.#deps.clock.setTimeout(() => {
      this.#sweepNow();
      if (!this.#isClosed) {
        this.#sweepLater();
      }
    }, delayMs);
  }

  #sweepNow(): void {
    if (this.#isClosed || this.#isSweeping) {
      return;
    }
    this.#isSweeping = true;
    this.#sweeping = this.#removeExpired()
      .catch((error: unknown) => {
        this.#deps.log.warn({ reason: errorText(error) }, 'events that are too old could not be removed');
      })
      .finally(() => {
        this.#isSweeping = false;
      });
  }

  async #removeExpired(): Promise<void> {
    const nowMs = Number(this.#deps.clock.nowNano() / 1_000_000n);
    const gone = expiredEvents(this.#set.all(), this.#deps.retention, nowMs);
    const { storage } = this.#deps;
    for (let from = 0; from < gone.length && !this.#isClosed; from += storage.changesMax) {
      const some = gone.slice(from, from + storage.changesMax);
      await storage.commit(some.map(({ key }) => ({ kind: 'delete', key })));
    }
  }
}

/** How much more there may be than are kept, before the oldest go at once. */
const SLACK = 1.1;

function owners({
  metadata: { managedFields },
}: ClusterEvent): Pick<ClusterEvent['metadata'], 'managedFields'> {
  return managedFields === undefined ? {} : { managedFields };
}

/** Throws conflict. Empty = no condition. */
function refuseUnmet(
  { name, revision, facts }: KnownEvent,
  { uid = '', resourceVersion = '' }: EventPreconditions,
): void {
  if (uid !== '' && uid !== facts.uid) {
    throw changedMeanwhile(
      name,
      `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${facts.uid}`,
    );
  }
  if (resourceVersion !== '' && resourceVersion !== '0' && resourceVersion !== String(revision)) {
    throw changedMeanwhile(name);
  }
}
