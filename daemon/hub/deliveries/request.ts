import { createHmac } from 'node:crypto';
import type { Hook } from '../hooks/hook.ts';
import type { Intent } from './intent.ts';

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

/** The request of a delivery (seed 001 section 2). `payload`: JSON. Pure. */
export function deliveryRequest(
  { guid, event }: Pick<Intent, 'guid' | 'event'>,
  hook: Hook,
  payload: string,
  { version, hasCompatHeaders }: RequestFacts,
): DeliveryRequest {
  const isForm = hook.config.contentType === 'form';
  const body = Buffer.from(isForm ? new URLSearchParams({ payload }).toString() : payload);
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
      ...(hasCompatHeaders && named('X-GitHub-', own)),
      ...signatures(hook.config.secret, body),
    },
    body,
  };
}

function named(prefix: string, headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [prefix + name, value]));
}

/** Over the bytes as they are sent: of a form too (GitHub: validating webhook deliveries). */
export function signatures(secret: string | null, body: Buffer): Record<string, string> {
  return secret === null
    ? {}
    : {
        'X-Hub-Signature': `sha1=${createHmac('sha1', secret).update(body).digest('hex')}`,
        'X-Hub-Signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
      };
}
