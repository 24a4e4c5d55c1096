import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { Delivery, DeliverySummary, NewDelivery, SealedDelivery } from './delivery.ts';

type Body = Pick<Delivery, 'url' | 'request' | 'response'>;

/** Payloads are most of it and repeat themselves: the fastest level makes a fifth of them. */
const FASTEST = 1;

/** A delivery as the log keeps it. Pure. */
export function sealed(delivery: NewDelivery): SealedDelivery {
  const { attempt, url, request, response, ...summary } = delivery;
  const body: Body = { url, request, response };
  return {
    attempt,
    hook: delivery.hook,
    deliveredMs: delivery.deliveredMs,
    outcome: delivery.outcome,
    summary: JSON.stringify(summary),
    body: deflateRawSync(JSON.stringify(body), { level: FASTEST }),
  };
}

export function opened(id: number, { summary, body }: { summary: string; body: Buffer }): Delivery {
  // `sealed` alone writes them.
  const whole = JSON.parse(inflateRawSync(body).toString('utf8')) as Body;
  return { ...openedSummary(id, summary), ...whole };
}

export function openedSummary(id: number, summary: string): DeliverySummary {
  // As in `opened`.
  return { ...(JSON.parse(summary) as Omit<DeliverySummary, 'id'>), id };
}
