import type { Hook } from '../../hooks/hook.ts';
import type { Occurrence } from '../../occurrences/occurrence.ts';
import type { Addresses } from '../../views/addresses.ts';
import type { Intent, News } from '../intent.ts';
import { MadePayload } from './made-payload.ts';
import { payloadOf } from './payload.ts';

/** Payloads. Those of an occurrence are made once for all hooks that are told of it. */
export class Payloads {
  readonly #addresses: Addresses;
  /** By event. An occurrence is never changed. */
  readonly #known = new WeakMap<Occurrence, Map<string, MadePayload>>();

  constructor(addresses: Addresses) {
    this.#addresses = addresses;
  }

  of(
    { event, news }: { event: Intent['event']; news: Exclude<News, { kind: 'again' }> },
    hook: Hook,
  ): MadePayload {
    const make = () => new MadePayload(JSON.stringify(payloadOf({ event, news }, hook, this.#addresses)));
    if (news.kind !== 'occurrence') {
      return make();
    }
    const made = this.#known.get(news.occurrence) ?? new Map<string, MadePayload>();
    this.#known.set(news.occurrence, made);
    const payload = made.get(event) ?? make();
    made.set(event, payload);
    return payload;
  }
}
