import type { HubRateStatus } from '../../types/hub/rate.ts';

/** Where a request was counted (seed 001, section 8). */
export function rateHeaders(status: HubRateStatus | undefined): Record<string, string> {
  return status === undefined
    ? {}
    : {
        'X-RateLimit-Limit': String(status.limit),
        'X-RateLimit-Remaining': String(status.remaining),
        'X-RateLimit-Used': String(status.used),
        'X-RateLimit-Reset': String(status.reset),
        'X-RateLimit-Resource': 'core',
      };
}
