import type { IncomingMessage, ServerResponse } from 'node:http';
import { EngineError } from '../../../daemon/base/errors.ts';
import type { HubRateStatus } from '../../types/hub/rate.ts';
import type { HubRegistrySession, RegistryErrorCode, RegistryRefusal } from '../../types/hub/registry.ts';

/** One request of the registry and its answer. */
export interface Exchange {
  req: IncomingMessage;
  res: ServerResponse;
  /** Of the target, without its query. */
  path: string;
  query: URLSearchParams;
  session: HubRegistrySession;
}

export function answerJson(res: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body);
  res.statusCode = status;
  if (!res.hasHeader('Content-Type')) {
    res.setHeader('Content-Type', 'application/json; charset=utf-8');
  }
  res.setHeader('Content-Length', Buffer.byteLength(text));
  res.end(text);
}

export function answerEmpty(res: ServerResponse, status: number, headers: Record<string, string> = {}): void {
  for (const [name, value] of Object.entries(headers)) {
    res.setHeader(name, value);
  }
  res.statusCode = status;
  if (status !== 204 && status !== 304) {
    res.setHeader('Content-Length', 0);
  }
  res.end();
}

/** A header of which there is one, as Node.js joins what is sent twice. */
export function header(req: IncomingMessage, name: string): string | undefined {
  const value = req.headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}

/** Counts a pull, and says what is left of them as Docker Hub does. Throws TOOMANYREQUESTS. */
export function admitPull({ session, res }: Exchange): void {
  const status = session.admit('registry_pull');
  if (status !== undefined) {
    for (const [name, value] of Object.entries(pullHeaders(status, session.source))) {
      res.setHeader(name, value);
    }
  }
}

function pullHeaders({ limit, remaining }: HubRateStatus, source: string): Record<string, string> {
  return {
    'RateLimit-Limit': `${limit};w=60`,
    'RateLimit-Remaining': `${remaining};w=60`,
    'Docker-RateLimit-Source': source,
  };
}

/** An error that the registry's clients know by its code; `status`: another than that of the code. */
export function refused(
  code: RegistryErrorCode,
  message: string,
  { status, ...rest }: Omit<RegistryRefusal, 'code'> & { status?: number } = {},
): EngineError {
  return new EngineError('invalid_argument', message, {
    details: {
      registry: { code, ...rest } satisfies RegistryRefusal,
      ...(status !== undefined && { status }),
    },
  });
}
