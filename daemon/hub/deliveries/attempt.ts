import type { Clock } from '../../base/clock.ts';
import { errorText } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { limits } from '../../base/limits.ts';
import type { Hook } from '../hooks/hook.ts';
import type { Addresses } from '../views/addresses.ts';
import type { Courier, Errand } from './courier.ts';
import type { SealedDelivery } from './delivery.ts';
import type { Intent } from './intent.ts';
import { MadePayload } from './payloads/made-payload.ts';
import { Payloads } from './payloads/payloads.ts';
import { deliveryRequest, type DeliveryRequest, type RequestFacts } from './request.ts';
import { sealed } from './seal.ts';
import type { Sender, Sent } from './sender.ts';
import { sendToService, type ServicesPort } from './services.ts';

export interface AttemptDeps {
  clock: Clock;
  sender: Sender;
  services: ServicesPort | undefined;
  addresses: Addresses;
  facts: RequestFacts;
}

/** Tells one attempt from all others, also across restarts. */
export function attemptKey({ id, attempt }: Intent): string {
  return `${id}.${attempt}`;
}

interface Made {
  payload: MadePayload;
  request: Pick<DeliveryRequest, 'headers'>;
  sent: Sent;
  problem?: string;
}

/** {@link Courier} that does it itself. */
export class OwnCourier implements Courier {
  readonly #deps: AttemptDeps;
  readonly #payloads: Payloads;

  constructor(deps: AttemptDeps) {
    this.#deps = deps;
    this.#payloads = new Payloads(deps.addresses);
  }

  async deliver(errands: readonly Errand[]): Promise<readonly SealedDelivery[]> {
    const { clock } = this.#deps;
    const untilMs = clock.monotonicMs() + limits.hubDeliveriesTogetherMs;
    const made: SealedDelivery[] = [];
    for (const errand of errands) {
      // A hook may be changed, or go, while its receiver takes long.
      if (made.length > 0 && clock.monotonicMs() >= untilMs) {
        break;
      }
      made.push(await this.#deliver(errand));
    }
    return made;
  }

  async #deliver(errand: Errand): Promise<SealedDelivery> {
    const { clock } = this.#deps;
    const { intent, hook } = errand;
    const startedMs = clock.monotonicMs();
    const deliveredMs = Number(clock.nowNano() / 1_000_000n);
    const { payload, request, sent, problem } = await this.#made(errand);
    const made = {
      attempt: attemptKey(intent),
      guid: intent.guid,
      hook: intent.hook,
      repository: intent.repository,
      event: intent.event,
      action: intent.action,
      isRedelivery: intent.news.kind === 'again' || intent.attempt > 0,
      deliveredMs,
      durationMs: clock.monotonicMs() - startedMs,
      outcome: sent.outcome,
      url: hook.config.url,
      request: { headers: request.headers, payload: payload.text },
      response: sent.response,
    };
    const delivery = sealed(made, payload.packed);
    return problem === undefined ? delivery : { ...delivery, problem };
  }

  async #made({ intent, hook, earlier }: Errand): Promise<Made> {
    let payload = new MadePayload('');
    let request: Pick<DeliveryRequest, 'headers'> = { headers: {} };
    try {
      payload = this.#payload(intent, hook, earlier);
      const whole = deliveryRequest(intent, hook, payload, this.#deps.facts);
      request = whole;
      failpoint('hub.delivery.send');
      const sent = await this.#send(intent, hook, payload, whole);
      failpoint('hub.delivery.sent');
      return { payload, request, sent };
    } catch (error) {
      const outcome = { status: 'internal error', code: 500, hookStatus: 'misconfigured' } as const;
      const sent = { outcome, response: { headers: {}, payload: '' } };
      return { payload, request, sent, problem: errorText(error) };
    }
  }

  #payload({ event, news }: Intent, hook: Hook, earlier: string | undefined): MadePayload {
    if (news.kind !== 'again') {
      return this.#payloads.of({ event, news }, hook);
    }
    if (earlier === undefined) {
      throw new Error(`delivery ${news.delivery} is not kept any more`);
    }
    return new MadePayload(earlier);
  }

  #send({ event }: Intent, { config }: Hook, payload: MadePayload, request: DeliveryRequest): Promise<Sent> {
    const { sender, services } = this.#deps;
    const url = new URL(config.url);
    return url.protocol === 'engine:'
      ? sendToService(services, url, event, payload.text)
      : sender.send({ url, isCertificateVerified: config.insecureSsl === '0' }, request);
  }
}
