import { notFound } from '../../../daemon/base/errors.ts';
import { hubRoute, ok, type ServedHubRoute } from './route.ts';

/** The first version whose answer has no `rate` (GitHub: breaking changes of 2026-03-10). */
const WITHOUT_RATE = '2026-03-10';

/** The caller's limits (GitHub: rate-limit). */
export const limitRoutes: readonly ServedHubRoute[] = [
  hubRoute({
    id: 'limits.get',
    method: 'GET',
    path: '/rate_limit',
    isFree: true,
    handler: ({ session, version }) => {
      const core = session.rate();
      if (core === undefined) {
        throw notFound('Rate limiting is not enabled.');
      }
      // There is nothing to search: it has the limit of all else.
      const resources = { core, search: core, ...session.registryRates() };
      return ok(version === WITHOUT_RATE ? { resources } : { resources, rate: core });
    },
  }),
];
