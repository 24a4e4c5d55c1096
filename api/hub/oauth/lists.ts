import { invalidArgument } from '../../../daemon/base/errors.ts';
import type { HubRequest } from '../routes/route.ts';

const PER_PAGE = { usual: 25, most: 100 };

/** A page of a list, as upstream answers lists. Throws invalid_argument. */
export function listOf(
  items: readonly unknown[],
  { query, url }: Pick<HubRequest<unknown>, 'query' | 'url'>,
): object {
  const [page, perPage] = [numberOf(query, 'page', 1), numberOf(query, 'per_page', PER_PAGE.usual)];
  const count = Math.min(perPage, PER_PAGE.most);
  const pages = Math.max(1, Math.ceil(items.length / count));
  const [next, previous] = [page < pages ? page + 1 : null, page > 1 ? page - 1 : null];
  const addressOf = (number: number | null): string | null => {
    if (number === null) {
      return null;
    }
    const address = new URL(url);
    address.searchParams.set('page', String(number));
    return address.href;
  };
  return {
    type: 'list',
    current_page: page,
    per_page: count,
    next_page: next,
    next_page_url: addressOf(next),
    prev_page: previous,
    prev_page_url: addressOf(previous),
    total_count: items.length,
    total_pages: pages,
    data: items.slice((page - 1) * count, page * count),
  };
}

function numberOf(query: URLSearchParams, name: string, usual: number): number {
  const text = query.get(name) ?? String(usual);
  if (!/^[1-9]\d{0,8}$/.test(text)) {
    throw invalidArgument(
      `${name} must be a number of at least 1, not ${JSON.stringify(text.slice(0, 100))}`,
    );
  }
  return Number(text);
}
