import type { ServerResponse } from 'node:http';
import { limits } from '../../daemon/base/limits.ts';

/**
 * Answers a request that no hub is there for, in the shapes of both interfaces: GitHub's `message`, and the registry's
 * `errors`, which docker shows.
 */
export function answerAway(res: ServerResponse, reason: string): void {
  const body = {
    message: reason,
    status: '503',
    errors: [{ code: 'UNAVAILABLE', message: reason }],
  };
  res.writeHead(503, {
    'Content-Type': 'application/json; charset=utf-8',
    'Retry-After': String(limits.hubAwayRetryAfterS),
    'Docker-Distribution-Api-Version': 'registry/2.0',
    Connection: 'close',
  });
  res.end(JSON.stringify(body));
}
