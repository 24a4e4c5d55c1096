import { refuseInvalid } from '../../../daemon/base/invalid-fields.ts';
import { limits } from '../../../daemon/base/limits.ts';
import { hubRoute, ok, type ServedHubRoute } from './route.ts';

/** What engines ask a registry for `docker search HOST/WORD` (the first version of Docker's registry API). */
export const searchRoutes: readonly ServedHubRoute[] = [
  hubRoute({
    id: 'search.ping',
    method: 'GET',
    path: '/v1/_ping',
    isFree: true,
    handler: () => ok(true),
  }),
  hubRoute({
    id: 'search.repositories',
    method: 'GET',
    path: '/v1/search',
    isSearch: true,
    handler: async ({ session, query }) => {
      const q = query.get('q') ?? '';
      const [size, page] = [count(query, 'n', limits.registrySearchDefault), count(query, 'page', 1)];
      const found = await session.notes.repositories(q);
      const results = found.slice((page - 1) * size, page * size).map(({ name, description }) => ({
        name,
        description,
        is_official: false,
        is_automated: false,
        star_count: 0,
      }));
      const pages = Math.ceil(found.length / size);
      return ok({ query: q, num_results: found.length, num_pages: pages, page, page_size: size, results });
    },
  }),
];

/** Throws InvalidFieldsError. */
function count(query: URLSearchParams, field: 'n' | 'page', otherwise: number): number {
  const text = query.get(field);
  if (text === null) {
    return otherwise;
  }
  const max = field === 'n' ? limits.registrySearchMax : limits.hubSearchFoundMax;
  const isRight = /^[1-9]\d{0,3}$/.test(text) && Number(text) <= max;
  const message = `must be a number from 1 to ${max}`;
  refuseInvalid([isRight ? undefined : { resource: 'Search', field, code: 'invalid', message, value: text }]);
  return Number(text);
}
