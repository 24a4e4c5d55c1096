import type { Hook } from '../../hooks/hook.ts';
import type { Occurrence } from '../../occurrences/occurrence.ts';
import type { Addresses } from '../../views/addresses.ts';
import type { Intent, News } from '../intent.ts';
import { payloadOf } from './payload.ts';

/** Payloads as JSON. Those of an occurrence are made once for all hooks that are told of it. */
export class PayloadTexts {
  readonly #addresses: Addresses;
  /** By event. An occurrence is never changed. */
  readonly #known = new WeakMap<Occurrence, Map<string, string>>();

  constructor(addresses: Addresses) {
    this.#addresses = addresses;
  }

  textOf(
    { event, news }: { event: Intent['event']; news: Exclude<News, { kind: 'again' }> },
    hook: Hook,
  ): string {
    if (news.kind !== 'occurrence') {
      return JSON.stringify(payloadOf({ event, news }, hook, this.#addresses));
    }
    const texts = this.#known.get(news.occurrence) ?? new Map<string, string>();
    this.#known.set(news.occurrence, texts);
    const text = texts.get(event) ?? JSON.stringify(payloadOf({ event, news }, hook, this.#addresses));
    texts.set(event, text);
    return text;
  }
}
