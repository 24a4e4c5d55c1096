import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/logger.ts';
import { Mirror } from '../../records/mirror.ts';
import type { HubRecord, Records } from '../../records/port.ts';
import {
  isSuccess,
  type Delivery,
  type DeliveryHistory,
  type DeliveryQuery,
  type DeliverySummary,
  type NewerQuery,
} from '../delivery.ts';
import { opened, openedSummary } from '../seal.ts';
import { bodyKey, LAST, SUMMARIES, type Kept } from './kept.ts';

export interface SharedLogDeps {
  /** A set of its own: it is not for the memory of the hub. `peek`: what `get` answers, at once. */
  records: Records & { peek(key: string): HubRecord | undefined };
  clock: Clock;
  log: Logger;
}

/**
 * What was delivered, where all managers of a swarm read it. Summaries are in memory, what was sent and answered is
 * read from the store. It is written in one manager's turn (term-log.ts).
 */
export class SharedLog implements DeliveryHistory, Disposable {
  readonly #records: SharedLogDeps['records'];
  readonly #mirror: Mirror;

  static async open(deps: SharedLogDeps): Promise<SharedLog> {
    return new SharedLog(deps.records, await Mirror.open(deps, SUMMARIES));
  }

  private constructor(records: SharedLogDeps['records'], mirror: Mirror) {
    this.#records = records;
    this.#mirror = mirror;
  }

  list({ hook, from = Number.MAX_SAFE_INTEGER, status, limit }: DeliveryQuery): DeliverySummary[] {
    return this.#ended(hook, status)
      .filter(({ id }) => id <= from)
      .toSorted((a, b) => b.id - a.id)
      .slice(0, limit)
      .map(({ id, summary }) => openedSummary(id, summary));
  }

  newer({ hook, than, status, limit }: NewerQuery): number[] {
    return this.#ended(hook, status)
      .flatMap(({ id }) => (id > than ? [id] : []))
      .toSorted((a, b) => a - b)
      .slice(0, limit);
  }

  get(hook: number, id: number): Delivery | undefined {
    const found = this.#ofHook(hook).find((each) => each.id === id);
    const body = found && this.#records.peek(bodyKey(hook, found.attempt))?.value;
    return found === undefined || typeof body !== 'string'
      ? undefined
      : opened(id, { summary: found.summary, body: Buffer.from(body, 'base64') });
  }

  /** All, oldest first. */
  kept(): Kept[] {
    // The term log alone writes them.
    return Array.from(this.#mirror.below(SUMMARIES), ({ value }) => value as Kept).toSorted(
      (a, b) => a.id - b.id,
    );
  }

  /** What was sent and answered, packed; undefined = it is gone. */
  body({ hook, attempt }: Kept): Buffer | undefined {
    const body = this.#records.peek(bodyKey(hook, attempt))?.value;
    return typeof body === 'string' ? Buffer.from(body, 'base64') : undefined;
  }

  /** The id that was given last. */
  get last(): number {
    const last = this.#records.peek(LAST)?.value;
    return typeof last === 'number' ? last : 0;
  }

  [Symbol.dispose](): void {
    this.#mirror[Symbol.dispose]();
  }

  #ended(hook: number, status: DeliveryQuery['status']): Kept[] {
    const all = this.#ofHook(hook);
    return status === undefined
      ? all
      : all.filter(({ code }) => (status === 'success') === isSuccess({ code }));
  }

  #ofHook(hook: number): Kept[] {
    // As in `kept`.
    return Array.from(this.#mirror.below(`${SUMMARIES}${hook}/`), ({ value }) => value as Kept);
  }
}
