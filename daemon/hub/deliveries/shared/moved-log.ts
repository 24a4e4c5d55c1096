import type { SealedDelivery } from '../delivery.ts';
import { limits } from '../../../base/limits.ts';
import type { RecordChange, Records } from '../../records/port.ts';
import type { LocalSet } from '../../records/move/local-set.ts';
import type { DeliveryDatabase } from '../local-log.ts';
import { openedSummary } from '../seal.ts';
import { boundBody, keptOf, LAST, putsOf } from './kept.ts';
import type { SharedLog } from './shared-log.ts';

/** The log of one host as a move sees it (storage/database/rows.ts). */
export interface MovedLogDatabase {
  readonly hubDeliveries: Pick<DeliveryDatabase['hubDeliveries'], 'list' | 'get' | 'insert'> & {
    clear(): void;
  };
  transaction<T>(change: () => T, options?: { durable?: boolean }): T;
}

/** Attempts of a host's own log, in a swarm's: told apart from those that are made there. */
const OWN = 'host-';

/** The newest deliveries of each hook of this host, with their ids, into the log of a swarm. May be called again. */
export async function bringLog(
  { hubDeliveries }: MovedLogDatabase,
  local: LocalSet,
  shared: Pick<Records, 'update'>,
): Promise<void> {
  let last = 0;
  let changes: RecordChange[] = [];
  let bytes = 0;
  const flush = async (): Promise<void> => {
    await shared.update(changes);
    [changes, bytes] = [[], 0];
  };
  for (const hook of hooksOf(local)) {
    const limit = limits.hubSharedDeliveriesOfHookMax;
    const rows = hubDeliveries.list({ hook, from: Number.MAX_SAFE_INTEGER, codes: [0, 999], limit });
    for (const { id, summary } of rows) {
      const delivery = sealedOf(id, summary, hubDeliveries.get(hook, id)?.body ?? Buffer.alloc(0));
      const body = boundBody(delivery);
      const kept = keptOf(id, delivery, body);
      last = Math.max(last, id);
      changes.push(...putsOf(kept, body));
      bytes += kept.bytes;
      if (changes.length >= limits.hubChangesAtOnce || bytes > limits.hubSharedBodyBytesMax) {
        await flush();
      }
    }
  }
  changes.push({ kind: 'put', key: LAST, value: last });
  await flush();
}

/**
 * The log of a swarm that ends into that of this host. `isOrigin`: the swarm has its records from this host, whose log
 * goes on; otherwise what is in it is about other hooks of the same ids.
 */
export function takeLog(database: MovedLogDatabase, shared: SharedLog, isOrigin: boolean): void {
  database.transaction(
    () => {
      if (!isOrigin) {
        database.hubDeliveries.clear();
      }
      for (const kept of shared.kept()) {
        const body = shared.body(kept);
        if (body !== undefined && !(isOrigin && kept.attempt.startsWith(OWN))) {
          const { attempt, hook, deliveredMs, code, summary } = kept;
          database.hubDeliveries.insert({ attempt, hook, deliveredMs, code, summary, body });
        }
      }
    },
    { durable: true },
  );
}

function hooksOf(local: LocalSet): number[] {
  return Array.from(local.below('hook/'), ({ key }) => Number(key.slice(key.lastIndexOf('/') + 1)));
}

function sealedOf(id: number, summary: string, body: Buffer): SealedDelivery {
  const { hook, deliveredMs, outcome } = openedSummary(id, summary);
  return { attempt: `${OWN}${id}`, hook, deliveredMs, outcome, summary, body };
}
