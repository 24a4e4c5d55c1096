import type { Delivery, DeliverySummary, NewDelivery, SealedDelivery } from './delivery.ts';
import { joined, packed, parted, unpacked } from './packing.ts';

type Body = Pick<Delivery, 'url' | 'request' | 'response'>;

/** A delivery as the log keeps it. `payload`: of its request, where that is packed already. Pure. */
export function sealed(delivery: NewDelivery, payload?: Buffer): SealedDelivery {
  const { attempt, url, request, response, ...summary } = delivery;
  const body = { url, request: { headers: request.headers }, response };
  return {
    attempt,
    hook: delivery.hook,
    deliveredMs: delivery.deliveredMs,
    outcome: delivery.outcome,
    summary: JSON.stringify(summary),
    body: joined(JSON.stringify(body), payload ?? packed(request.payload)),
  };
}

export function opened(id: number, { summary, body }: { summary: string; body: Buffer }): Delivery {
  const parts = parted(body);
  // `sealed` alone writes them; that of older daemons packed the payload with the rest.
  const whole = JSON.parse(parts?.text ?? unpacked(body)) as Body;
  const request = parts === undefined ? whole.request : { ...whole.request, payload: parts.payload };
  return { ...openedSummary(id, summary), ...whole, request };
}

export function openedSummary(id: number, summary: string): DeliverySummary {
  // As in `opened`.
  return { ...(JSON.parse(summary) as Omit<DeliverySummary, 'id'>), id };
}
