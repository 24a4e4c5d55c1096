import type { SealedDelivery } from '../delivery.ts';
import { limits } from '../../../base/limits.ts';
import type { RecordChange } from '../../records/port.ts';
import { opened, sealed } from '../seal.ts';

/** One delivery as the managers of a swarm keep it, without what was sent and answered. */
export interface Kept {
  id: number;
  attempt: string;
  hook: number;
  deliveredMs: number;
  code: number;
  /** JSON of a `DeliverySummary` without its id. */
  summary: string;
  /** Of all that is kept of it, about. */
  bytes: number;
}

export const SUMMARIES = 'summary/';
/** The id that was given last. */
export const LAST = 'last/id';

export function summaryKey({ hook, attempt }: Pick<Kept, 'hook' | 'attempt'>): string {
  return `${SUMMARIES}${hook}/${attempt}`;
}

export function bodyKey(hook: number, attempt: string): string {
  return `body/${hook}/${attempt}`;
}

export function putsOf(kept: Kept, body: Buffer): RecordChange[] {
  return [
    { kind: 'put', key: summaryKey(kept), value: kept },
    { kind: 'put', key: bodyKey(kept.hook, kept.attempt), value: body.toString('base64') },
  ];
}

export function deletesOf(kept: Kept): RecordChange[] {
  return [
    { kind: 'delete', key: summaryKey(kept) },
    { kind: 'delete', key: bodyKey(kept.hook, kept.attempt) },
  ];
}

export function keptOf(id: number, delivery: SealedDelivery, body: Buffer): Kept {
  const { attempt, hook, deliveredMs, outcome, summary } = delivery;
  const bytes = summary.length + Math.ceil((body.length * 4) / 3);
  return { id, attempt, hook, deliveredMs, code: outcome.code, summary, bytes };
}

/** What was sent and answered, without the answer's body, or both, where that is too much for a store. */
export function boundBody({ attempt, summary, body }: SealedDelivery): Buffer {
  const most = limits.hubSharedBodyBytesMax;
  if (body.length <= most) {
    return body;
  }
  const { id: _id, ...whole } = opened(0, { summary, body });
  const silent = { ...whole, attempt, response: { ...whole.response, payload: '' } };
  const cut = sealed(silent).body;
  return cut.length <= most ? cut : sealed({ ...silent, request: { ...whole.request, payload: '' } }).body;
}

/** What is too much, of all that is kept, oldest first: by age, of one hook, and in bytes. Pure. */
export function surplusOf(all: readonly Kept[], beforeMs: number): Kept[] {
  const ofHook = new Map<number, number>();
  let bytes = 0;
  const surplus: Kept[] = [];
  for (const kept of all.toReversed()) {
    const count = (ofHook.get(kept.hook) ?? 0) + 1;
    ofHook.set(kept.hook, count);
    bytes += kept.bytes;
    const isTooMuch =
      count > limits.hubSharedDeliveriesOfHookMax ||
      bytes > limits.hubSharedDeliveriesBytesMax ||
      kept.deliveredMs < beforeMs;
    if (isTooMuch) {
      surplus.push(kept);
    }
  }
  return surplus;
}
