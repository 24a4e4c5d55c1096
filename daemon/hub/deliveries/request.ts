import type { Hook } from '../hooks/hook.ts';
import type { Intent } from './intent.ts';
import { occurrenceId } from '../occurrences/occurrence-id.ts';
import { signatures, type MadePayload } from './payloads/made-payload.ts';

/** What is sent, but for where to. */
export interface DeliveryRequest {
  headers: Readonly<Record<string, string>>;
  /** The bytes that are signed. */
  body: Buffer;
}

export interface RequestFacts {
  /** Of the engine. */
  version: string;
  /** Whether GitHub's names of the headers stand beside the hub's own. */
  hasCompatHeaders: boolean;
}

/** The request of a delivery (seed 001 section 2). Pure. */
export function deliveryRequest(
  { guid, event, news }: Pick<Intent, 'guid' | 'event' | 'news'>,
  hook: Hook,
  payload: MadePayload,
  { version, hasCompatHeaders }: RequestFacts,
): DeliveryRequest {
  const isForm = hook.config.contentType === 'form';
  const body = isForm
    ? Buffer.from(new URLSearchParams({ payload: payload.text }).toString())
    : payload.bytes;
  const own = {
    Delivery: guid,
    Event: event,
    'Hook-ID': String(hook.id),
    'Hook-Installation-Target-ID': String(hook.repository),
    'Hook-Installation-Target-Type': 'repository',
  };
  return {
    headers: {
      Accept: '*/*',
      'User-Agent': `Berth-Hookshot/${version}`,
      'content-type': isForm ? 'application/x-www-form-urlencoded' : 'application/json',
      ...named('X-Svc-', own),
      // By which the events of the cluster call it too.
      ...(news.kind === 'occurrence' && { 'X-Svc-Occurrence': occurrenceId(news.occurrence) }),
      ...(hasCompatHeaders && named('X-GitHub-', own)),
      ...(isForm ? signatures(hook.config.secret, body) : payload.signatures(hook.config.secret)),
    },
    body,
  };
}

function named(prefix: string, headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [prefix + name, value]));
}
