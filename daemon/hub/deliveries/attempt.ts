import type { Clock } from '../../base/clock.ts';
import { failpoint } from '../../base/failpoint.ts';
import type { Logger } from '../../base/logger.ts';
import type { Hook } from '../hooks/hook.ts';
import type { Addresses } from '../views/addresses.ts';
import type { DeliveryLog, NewDelivery } from './delivery.ts';
import type { Intent } from './intent.ts';
import { payloadOf } from './payloads/payload.ts';
import { deliveryRequest, type DeliveryRequest, type RequestFacts } from './request.ts';
import type { Sender, Sent } from './sender.ts';
import { sendToService, type ServicesPort } from './services.ts';

export interface AttemptDeps {
  clock: Clock;
  log: Logger;
  deliveries: DeliveryLog;
  sender: Sender;
  services: ServicesPort | undefined;
  addresses: Addresses;
  facts: RequestFacts;
}

/** Tells one attempt from all others, also across restarts. */
export function attemptKey({ id, attempt }: Intent): string {
  return `${id}.${attempt}`;
}

/** Makes a delivery. Undefined = there is nothing to do: it was made before, or its hook is gone. Never rejects. */
export async function attemptDelivery(
  deps: AttemptDeps,
  intent: Intent,
  hook: Hook | undefined,
): Promise<NewDelivery | undefined> {
  const isWanted = hook !== undefined && (hook.isActive || intent.news.kind !== 'occurrence');
  if (!isWanted || deps.deliveries.has(attemptKey(intent))) {
    return undefined;
  }
  const startedMs = deps.clock.monotonicMs();
  const deliveredMs = Number(deps.clock.nowNano() / 1_000_000n);
  const { payload, request, sent } = await made(deps, intent, hook);
  return {
    attempt: attemptKey(intent),
    guid: intent.guid,
    hook: intent.hook,
    repository: intent.repository,
    event: intent.event,
    action: intent.action,
    isRedelivery: intent.news.kind === 'again' || intent.attempt > 0,
    deliveredMs,
    durationMs: deps.clock.monotonicMs() - startedMs,
    outcome: sent.outcome,
    url: hook.config.url,
    request: { headers: request.headers, payload },
    response: sent.response,
  };
}

interface Made {
  payload: string;
  request: Pick<DeliveryRequest, 'headers'>;
  sent: Sent;
}

async function made(deps: AttemptDeps, intent: Intent, hook: Hook): Promise<Made> {
  let payload = '';
  let request: Pick<DeliveryRequest, 'headers'> = { headers: {} };
  try {
    payload = payloadText(deps, intent, hook);
    const whole = deliveryRequest(intent, hook, payload, deps.facts);
    request = whole;
    failpoint('hub.delivery.send');
    const sent = await send(deps, intent, hook, payload, whole);
    failpoint('hub.delivery.sent');
    return { payload, request, sent };
  } catch (error) {
    deps.log.error({ err: error, guid: intent.guid }, 'a delivery of a webhook was not made');
    const outcome = { status: 'internal error', code: 500, hookStatus: 'misconfigured' } as const;
    return { payload, request, sent: { outcome, response: { headers: {}, payload: '' } } };
  }
}

function payloadText(
  { deliveries, addresses }: AttemptDeps,
  { hook: id, event, news }: Intent,
  hook: Hook,
): string {
  if (news.kind !== 'again') {
    return JSON.stringify(payloadOf({ event, news }, hook, addresses));
  }
  const earlier = deliveries.get(id, news.delivery);
  if (earlier === undefined) {
    throw new Error(`delivery ${news.delivery} is not kept any more`);
  }
  return earlier.request.payload;
}

function send(
  { sender, services }: AttemptDeps,
  { event }: Intent,
  { config }: Hook,
  payload: string,
  request: DeliveryRequest,
): Promise<Sent> {
  const url = new URL(config.url);
  return url.protocol === 'engine:'
    ? sendToService(services, url, event, payload)
    : sender.send({ url, isCertificateVerified: config.insecureSsl === '0' }, request);
}
