import type { Clock } from '../../../base/clock.ts';
import { errorText } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import type { Logger } from '../../../base/logger.ts';
import type { RecordChange, Records } from '../../records/port.ts';
import type {
  Delivery,
  DeliveryLog,
  DeliveryQuery,
  DeliverySummary,
  NewerQuery,
  SealedDelivery,
} from '../delivery.ts';
import { boundBody, deletesOf, keptOf, LAST, putsOf, surplusOf, type Kept } from './kept.ts';
import type { SharedLog } from './shared-log.ts';

interface Deps {
  shared: SharedLog;
  /** Refuses what is written when the turn is over. */
  update: Records['update'];
  clock: Clock;
  log: Logger;
}

/** The shared log in one manager's turn: nobody else writes it meanwhile, so what is in it is known. */
export class TermLog implements DeliveryLog {
  readonly #deps: Deps;
  readonly #attempts: Set<string>;
  #all: Kept[];
  #last: number;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#all = deps.shared.kept();
    this.#attempts = new Set(this.#all.map(({ attempt }) => attempt));
    this.#last = Math.max(deps.shared.last, this.#all.at(-1)?.id ?? 0);
  }

  async add(deliveries: readonly SealedDelivery[]): Promise<void> {
    let some: Kept[] = [];
    let puts: RecordChange[] = [];
    let bytes = 0;
    for (const delivery of deliveries.filter(({ attempt }) => !this.#attempts.has(attempt))) {
      const body = boundBody(delivery);
      const kept = keptOf(this.#last + some.length + 1, delivery, body);
      if (some.length > 0 && bytes + kept.bytes > limits.hubRecordBytesMax) {
        await this.#write(some, puts);
        [some, puts, bytes] = [[], [], 0];
        kept.id = this.#last + 1;
      }
      some.push(kept);
      puts.push(...putsOf(kept, body));
      bytes += kept.bytes;
    }
    await this.#write(some, puts);
  }

  has(attempt: string): boolean {
    return this.#attempts.has(attempt);
  }

  list(query: DeliveryQuery): DeliverySummary[] {
    return this.#deps.shared.list(query);
  }

  newer(query: NewerQuery): number[] {
    return this.#deps.shared.newer(query);
  }

  get(hook: number, id: number): Delivery | undefined {
    return this.#deps.shared.get(hook, id);
  }

  /** Behind the call: what is too old. The bounds of a store are its own, and `add` keeps them. */
  prune(): void {
    this.#write([], []).catch((error: unknown) => {
      this.#deps.log.warn({ reason: errorText(error) }, 'old deliveries of webhooks were not removed');
    });
  }

  async #write(some: readonly Kept[], puts: readonly RecordChange[]): Promise<void> {
    const all = [...this.#all, ...some];
    const nowMs = Number(this.#deps.clock.nowNano() / 1_000_000n);
    const gone = new Set(
      surplusOf(all, nowMs - limits.hubDeliveriesDays * 86_400_000).slice(
        0,
        limits.hubDeliveriesPrunedAtOnce / 2,
      ),
    );
    const deletes = [...gone].filter((kept) => !some.includes(kept)).flatMap(deletesOf);
    const last = some.at(-1)?.id ?? this.#last;
    const changes = [...puts, ...deletes];
    if (changes.length === 0) {
      return;
    }
    await this.#deps.update([...changes, { kind: 'put', key: LAST, value: last }]);
    this.#last = last;
    some.forEach(({ attempt }) => this.#attempts.add(attempt));
    this.#all = all.filter((kept) => !gone.has(kept) || some.includes(kept));
  }
}
