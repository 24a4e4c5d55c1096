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
  const [id, repository] = [String(hook.id), String(hook.repository)];
  return {
    headers: {
      Accept: '*/*',
      'User-Agent': `Berth-Hookshot/${version}`,
      'content-type': isForm ? 'application/x-www-form-urlencoded' : 'application/json',
      'X-Svc-Delivery': guid,
      'X-Svc-Event': event,
      'X-Svc-Hook-ID': id,
      'X-Svc-Hook-Installation-Target-ID': repository,
      'X-Svc-Hook-Installation-Target-Type': 'repository',
      // By which the events of the cluster call it too.
      ...(news.kind === 'occurrence' && { 'X-Svc-Occurrence': occurrenceId(news.occurrence) }),
      ...(hasCompatHeaders && {
        'X-GitHub-Delivery': guid,
        'X-GitHub-Event': event,
        'X-GitHub-Hook-ID': id,
        'X-GitHub-Hook-Installation-Target-ID': repository,
        'X-GitHub-Hook-Installation-Target-Type': 'repository',
      }),
      ...(isForm ? signatures(hook.config.secret, body) : payload.signatures(hook.config.secret)),
    },
    body,
  };
}
