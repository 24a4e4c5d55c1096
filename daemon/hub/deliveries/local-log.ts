import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { failpoint } from '../../base/failpoint.ts';
import { limits } from '../../base/limits.ts';
import type { Delivery, DeliveryLog, DeliveryQuery, DeliverySummary, NewDelivery } from './delivery.ts';

/** What it needs of the database (storage/database/rows.ts). */
export interface DeliveryDatabase {
  readonly hubDeliveries: {
    insert(row: {
      attempt: string;
      hook: number;
      deliveredMs: number;
      code: number;
      summary: string;
      body: Buffer;
    }): void;
    has(attempt: string): boolean;
    list(query: { hook: number; from: number; codes: readonly [number, number]; limit: number }): Row[];
    get(hook: number, id: number): (Row & { body: Buffer }) | undefined;
    prune(bounds: { beforeMs: number; keepOfHook: number; keepBytes: number; limit: number }): void;
  };
  transaction<T>(change: () => T): T;
}

interface Row {
  id: number;
  summary: string;
}

type Body = Pick<Delivery, 'url' | 'request' | 'response'>;

const CODES = {
  all: [0, 999],
  success: [200, 399],
  failure: [400, 999],
} as const;

/** Payloads are most of it and repeat themselves: the fastest level makes a fifth of them. */
const FASTEST = 1;

/** {@link DeliveryLog} in the database of this host. */
export class LocalDeliveryLog implements DeliveryLog {
  readonly #database: DeliveryDatabase;

  constructor(database: DeliveryDatabase) {
    this.#database = database;
  }

  add(deliveries: readonly NewDelivery[]): void {
    const rows = deliveries.map((delivery) => {
      const { attempt, url, request, response, ...summary } = delivery;
      const body: Body = { url, request, response };
      return {
        attempt,
        hook: delivery.hook,
        deliveredMs: delivery.deliveredMs,
        code: delivery.outcome.code,
        summary: JSON.stringify(summary),
        body: deflateRawSync(JSON.stringify(body), { level: FASTEST }),
      };
    });
    this.#database.transaction(() => rows.forEach((row) => this.#database.hubDeliveries.insert(row)));
  }

  has(attempt: string): boolean {
    return this.#database.hubDeliveries.has(attempt);
  }

  list({ hook, from = Number.MAX_SAFE_INTEGER, status, limit }: DeliveryQuery): DeliverySummary[] {
    const codes = CODES[status ?? 'all'];
    return this.#database.hubDeliveries.list({ hook, from, codes, limit }).map(summaryOf);
  }

  get(hook: number, id: number): Delivery | undefined {
    const row = this.#database.hubDeliveries.get(hook, id);
    if (row === undefined) {
      return undefined;
    }
    // `add` alone writes them.
    const body = JSON.parse(inflateRawSync(row.body).toString('utf8')) as Body;
    return { ...summaryOf(row), ...body };
  }

  prune({ beforeMs, ofHook, bytes }: { beforeMs: number; ofHook: number; bytes: number }): void {
    failpoint('hub.deliveries.prune');
    const bounds = {
      beforeMs,
      keepOfHook: ofHook,
      keepBytes: bytes,
      limit: limits.hubDeliveriesPrunedAtOnce,
    };
    this.#database.transaction(() => this.#database.hubDeliveries.prune(bounds));
  }
}

function summaryOf({ id, summary }: Row): DeliverySummary {
  // As in `get`.
  return { ...(JSON.parse(summary) as Omit<DeliverySummary, 'id'>), id };
}
