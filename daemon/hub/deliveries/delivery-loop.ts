import { errorText } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { limits } from '../../base/limits.ts';
import type { Hook } from '../hooks/hook.ts';
import type { RecordEvent, Records } from '../records/port.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import { attemptKey } from './attempt.ts';
import type { Courier, Errand } from './courier.ts';
import { isSuccess, type DeliveryLog, type SealedDelivery } from './delivery.ts';
import { IntentBook } from './intent-book.ts';
import { IntentQueue, type Taken } from './intent-queue.ts';
import { INTENTS, type Intent, type Waiting } from './intent.ts';
import { nextAttemptMs, type DeliveryRules } from './rules.ts';

export interface DeliveryLoopDeps {
  clock: Clock;
  log: Logger;
  records: Records;
  deliveries: DeliveryLog;
  courier: Courier;
  rules: DeliveryRules;
  /** Resolves when `findHook` knows what was changed up to a revision; absent = it always does. */
  known?(revision: number): Promise<void>;
  findHook(repository: number, hook: number): Hook | undefined;
  /** Switches a hook off. Throws not_found. */
  switchOff(repository: number, hook: number): Promise<unknown>;
  /** Told of each delivery that was written down as failed, and of hooks that are switched off. */
  told?: ((news: LoopNews) => void) | undefined;
}

/** `repository`: its id. */
export type LoopNews =
  | { kind: 'delivery-failed'; intent: Intent; status: string }
  | { kind: 'hook-switched-off'; hook: number; repository: number; failures: number };

interface Finished {
  intent: Intent;
  /** Undefined = there was nothing to deliver. */
  delivery: SealedDelivery | undefined;
}

/**
 * Makes the deliveries that are intended: all that there are at its start, then those that come. Each is written down
 * before its intent goes, so one that is cut off is made again, with the same guid.
 */
export class DeliveryLoop implements Disposable {
  readonly #deps: DeliveryLoopDeps;
  readonly #queue: IntentQueue;
  /** What is queued, under way or not written down yet. */
  readonly #book = new IntentBook();
  /** Of that: attempts that an earlier daemon may have made. */
  readonly #doubtful = new Set<string>();
  #finished: Finished[] = [];
  #watch: Disposable | undefined;
  #flushTimer: Disposable | undefined;
  #pruneTimer: Disposable | undefined;
  readonly #waits = new Set<Disposable>();
  #isFlushing = false;
  #isPumpDue = false;
  #isClosed = false;

  constructor(deps: DeliveryLoopDeps) {
    this.#deps = deps;
    this.#queue = new IntentQueue(
      {
        inAll: limits.hubDeliveriesAtOnce,
        ofHost: limits.hubDeliveriesOfHostAtOnce,
        ofHook: limits.hubDeliveriesTogether,
      },
      (intent) => this.#hostOf(intent),
    );
  }

  /** Begins with all that is intended. Throws what the records throw. */
  async start(): Promise<void> {
    await this.#load();
    this.#prune();
  }

  /** Deliveries that wait: of a hook, and of all. */
  waitingOf(hook: number): Waiting {
    return { ofHook: this.#queue.waitingOf(hook), inAll: this.#queue.waiting };
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#watch?.[Symbol.dispose]();
    this.#flushTimer?.[Symbol.dispose]();
    this.#pruneTimer?.[Symbol.dispose]();
    this.#waits.forEach((wait) => wait[Symbol.dispose]());
  }

  async #load(): Promise<void> {
    const { records } = this.#deps;
    const over = this.#book.over();
    let from: number | undefined;
    for (let after = ''; ;) {
      const page = await records.list(INTENTS, { after });
      from ??= page.revision;
      const last = page.records.at(-1);
      if (last === undefined) {
        break;
      }
      await this.#deps.known?.(Math.max(...page.records.map(({ revision }) => revision)));
      for (const { key, value } of page.records) {
        for (const intent of this.#book.take(key, value)) {
          this.#doubtful.add(attemptKey(intent));
          this.#add(intent);
        }
      }
      after = last.key;
    }
    // The watch that would have told it has ended.
    over.forEach((key) => this.#book.gone(key));
    if (!this.#isClosed) {
      this.#watch = records.watch(INTENTS, from + 1, {
        onChanges: (events, revision) => this.#told(events, revision),
        onRelist: () => this.#again(),
      });
    }
  }

  #again(): void {
    if (this.#isClosed) {
      return;
    }
    this.#load().catch((error: unknown) => {
      this.#deps.log.warn({ reason: errorText(error) }, 'the deliveries that are intended could not be read');
      this.#wait(limits.hubRelistMs, () => this.#again());
    });
  }

  /** An intent may be told of before its hook is known here: the mirror has a watch of its own. */
  #told(events: readonly RecordEvent[], revision: number): void {
    const known = this.#deps.known?.(revision);
    if (known === undefined) {
      this.#changed(events);
      return;
    }
    known
      .then(() => this.#changed(events))
      .catch((error: unknown) =>
        this.#deps.log.error({ err: error }, 'deliveries of webhooks were left out'),
      );
  }

  #changed(events: readonly RecordEvent[]): void {
    for (const event of events) {
      if (event.kind === 'delete') {
        this.#book.gone(event.key);
      } else {
        this.#book.take(event.record.key, event.record.value).forEach((intent) => this.#add(intent));
      }
    }
  }

  /** One that waits for its time comes then. */
  #add(intent: Intent): void {
    const waitMs = intent.notBeforeMs - this.#nowMs();
    if (waitMs > 0) {
      this.#wait(waitMs, () => this.#enqueue(intent));
    } else {
      this.#enqueue(intent);
    }
  }

  #enqueue(intent: Intent): void {
    this.#queue.add(intent);
    if (!this.#isPumpDue) {
      this.#isPumpDue = true;
      // Not within the update that tells of it: what has happened is answered first.
      setImmediate(() => this.#pump());
    }
  }

  #pump(): void {
    this.#isPumpDue = false;
    while (!this.#isClosed && this.#finished.length < limits.hubDeliveriesKeptAtOnce) {
      const next = this.#queue.take();
      if (next === undefined) {
        return;
      }
      void this.#deliver(next).catch((error: unknown) => {
        this.#deps.log.error({ err: error }, 'a delivery of a webhook was not ended');
      });
    }
  }

  async #deliver({ intents, done }: Taken): Promise<void> {
    const errands = intents.flatMap((intent) => this.#errandOf(intent) ?? []);
    const made = errands.length === 0 ? [] : await this.#deps.courier.deliver(errands);
    if (this.#isClosed) {
      return;
    }
    const left = new Set(errands.slice(made.length).map(({ intent }) => intent));
    const ofIntent = new Map(made.map((delivery, at) => [errands[at]?.intent, delivery]));
    for (const intent of intents.filter((each) => !left.has(each))) {
      const delivery = ofIntent.get(intent);
      if (delivery?.problem !== undefined) {
        const { guid } = intent;
        this.#deps.log.error({ guid, reason: delivery.problem }, 'a delivery of a webhook was not made');
      }
      this.#finished.push({ intent, delivery });
    }
    done([...left]);
    this.#flushTimer ??= this.#deps.clock.setTimeout(() => this.#flush(), limits.hubDeliveriesKeptMs);
    this.#pump();
  }

  /** Undefined = there is nothing to do: it was made before, or its hook is gone. */
  #errandOf(intent: Intent): Errand | undefined {
    const hook = this.#hookOf(intent);
    const isWanted = hook !== undefined && (hook.isActive || intent.news.kind !== 'occurrence');
    return isWanted && !this.#wasMade(intent) ? { intent, hook, earlier: this.#earlier(intent) } : undefined;
  }

  #wasMade(intent: Intent): boolean {
    const key = attemptKey(intent);
    return this.#doubtful.delete(key) && this.#deps.deliveries.has(key);
  }

  /** Of what is sent again: the payload that was sent. */
  #earlier({ hook, guid, news }: Intent): string | undefined {
    if (news.kind !== 'again') {
      return undefined;
    }
    try {
      return this.#deps.deliveries.get(hook, news.delivery)?.request.payload;
    } catch (error) {
      this.#deps.log.error({ err: error, guid }, 'a delivery could not be read');
      return undefined;
    }
  }

  #flush(): void {
    this.#flushTimer = undefined;
    if (this.#isFlushing || this.#isClosed || this.#finished.length === 0) {
      return;
    }
    this.#isFlushing = true;
    const some = this.#finished;
    this.#finished = [];
    this.#keep(some)
      .catch((error: unknown) => {
        this.#deps.log.warn({ reason: errorText(error) }, 'deliveries of webhooks could not be written down');
        this.#finished = [...some, ...this.#finished];
        return limits.hubDeliveriesRetryMs;
      })
      .then((waitMs) => {
        this.#isFlushing = false;
        if (this.#finished.length > 0 && !this.#isClosed) {
          this.#flushTimer ??= this.#deps.clock.setTimeout(() => this.#flush(), waitMs);
        }
        this.#pump();
        return undefined;
      })
      .catch((error: unknown) => this.#deps.log.error({ err: error }, 'deliveries of webhooks have stopped'));
  }

  /** Writes down what was delivered, then takes that from what is intended. Answers when the next ones may be. */
  async #keep(some: readonly Finished[]): Promise<number> {
    const { deliveries, records } = this.#deps;
    failpoint('hub.delivery.log');
    await deliveries.add(some.flatMap(({ delivery }) => delivery ?? []));
    failpoint('hub.delivery.logged');
    const ended = some.map(({ intent, delivery }) => ({ intent, next: this.#next(intent, delivery) }));
    const { changes, done } = this.#book.settle(ended);
    // Where a power cut takes it back, the log knows what was made.
    await records.update(changes, { mayBeLost: true });
    failpoint('hub.delivery.removed');
    done();
    some.forEach((each) => this.#ended(each));
    ended.forEach(({ next }) => next !== undefined && this.#add(next));
    await this.#switchOff(some);
    return limits.hubDeliveriesKeptMs;
  }

  #ended({ intent, delivery }: Finished): void {
    if (delivery !== undefined && !isSuccess(delivery.outcome)) {
      this.#deps.told?.({ kind: 'delivery-failed', intent, status: delivery.outcome.status });
    }
  }

  /** Undefined = it is not tried again. */
  #next(intent: Intent, delivery: SealedDelivery | undefined): Intent | undefined {
    const atMs = delivery && nextAttemptMs(intent, delivery.outcome, this.#deps.rules, this.#nowMs());
    return typeof atMs === 'number'
      ? { ...intent, attempt: intent.attempt + 1, notBeforeMs: atMs }
      : undefined;
  }

  /** Hooks that have failed so many times in a row. */
  async #switchOff(some: readonly Finished[]): Promise<void> {
    const { rules, deliveries, log } = this.#deps;
    const limit = rules.switchOffAfter;
    const failed = some.filter(({ delivery }) => limit > 0 && delivery && !isSuccess(delivery.outcome));
    for (const { hook, repository } of new Map(failed.map(({ intent }) => [intent.hook, intent])).values()) {
      const last = deliveries.list({ hook, limit });
      if (last.length === limit && last.every(({ outcome }) => !isSuccess(outcome))) {
        try {
          await this.#deps.switchOff(repository, hook);
          log.warn({ hook, failures: limit }, 'a webhook was switched off');
          this.#deps.told?.({ kind: 'hook-switched-off', hook, repository, failures: limit });
        } catch (error) {
          log.warn({ hook, reason: errorText(error) }, 'a webhook was not switched off');
        }
      }
    }
  }

  #prune(): void {
    if (this.#isClosed) {
      return;
    }
    const days = limits.hubDeliveriesDays * 86_400_000;
    try {
      this.#deps.deliveries.prune({
        beforeMs: this.#nowMs() - days,
        ofHook: limits.hubDeliveriesOfHookMax,
        bytes: limits.hubDeliveriesBytesMax,
      });
    } catch (error) {
      this.#deps.log.warn({ reason: errorText(error) }, 'old deliveries of webhooks were not removed');
    }
    this.#pruneTimer = this.#deps.clock.setTimeout(() => this.#prune(), limits.hubDeliveriesPruneMs);
  }

  #wait(ms: number, then: () => void): void {
    const timer = this.#deps.clock.setTimeout(() => {
      this.#waits.delete(timer);
      then();
    }, ms);
    this.#waits.add(timer);
  }

  /** As it is now, or as it was when it went. */
  #hookOf({ repository, hook, lastHook }: Intent): Hook | undefined {
    return this.#deps.findHook(repository, hook) ?? lastHook ?? this.#queue.lastHookOf(hook) ?? undefined;
  }

  #hostOf(intent: Intent): string {
    const url = this.#hookOf(intent)?.config.url;
    return url === undefined ? '' : new URL(url).host;
  }

  #nowMs(): number {
    return Number(this.#deps.clock.nowNano() / 1_000_000n);
  }
}
