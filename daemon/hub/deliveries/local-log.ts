import { failpoint } from '../../base/failpoint.ts';
import { limits } from '../../base/limits.ts';
import type { Room } from '../records/local-records.ts';
import type {
  Delivery,
  DeliveryLog,
  DeliveryQuery,
  DeliverySummary,
  NewerQuery,
  SealedDelivery,
} from './delivery.ts';
import { opened, openedSummary } from './seal.ts';

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
    newer(query: { hook: number; than: number; codes: readonly [number, number]; limit: number }): number[];
    get(hook: number, id: number): (Row & { body: Buffer }) | undefined;
    prune(bounds: { beforeMs: number; keepOfHook: number; keepBytes: number; limit: number }): void;
  };
  transaction<T>(change: () => T): T;
}

interface Row {
  id: number;
  summary: string;
}

const CODES = {
  all: [0, 999],
  success: [200, 399],
  failure: [400, 999],
} as const;

/** {@link DeliveryLog} in the database of this host. */
export class LocalDeliveryLog implements DeliveryLog {
  readonly #database: DeliveryDatabase;
  readonly #room: Room | undefined;

  constructor(database: DeliveryDatabase, room?: Room) {
    this.#database = database;
    this.#room = room;
  }

  add(deliveries: readonly SealedDelivery[]): void {
    const { hubDeliveries } = this.#database;
    this.#room?.look();
    this.#database.transaction(() =>
      deliveries.forEach(({ attempt, hook, deliveredMs, outcome: { code }, summary, body }) =>
        hubDeliveries.insert({ attempt, hook, deliveredMs, code, summary, body }),
      ),
    );
  }

  has(attempt: string): boolean {
    return this.#database.hubDeliveries.has(attempt);
  }

  list({ hook, from = Number.MAX_SAFE_INTEGER, status, limit }: DeliveryQuery): DeliverySummary[] {
    const codes = CODES[status ?? 'all'];
    return this.#database.hubDeliveries
      .list({ hook, from, codes, limit })
      .map(({ id, summary }) => openedSummary(id, summary));
  }

  newer({ hook, than, status, limit }: NewerQuery): number[] {
    return this.#database.hubDeliveries.newer({ hook, than, codes: CODES[status ?? 'all'], limit });
  }

  get(hook: number, id: number): Delivery | undefined {
    const row = this.#database.hubDeliveries.get(hook, id);
    return row && opened(id, row);
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
