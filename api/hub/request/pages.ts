import { refuseInvalid } from '../../../daemon/base/invalid-fields.ts';

/** Which part of a list is asked for. */
export interface PageOptions {
  /** From 1. */
  page: number;
  /** 1 to 100. */
  perPage: number;
}

const PER_PAGE = 30;
const PER_PAGE_MAX = 100;

/** Reads `page` and `per_page` as GitHub does: what is too large is cut, what is too small counts as not said. */
export function readPage(query: URLSearchParams): PageOptions {
  const [page, perPage] = [read(query, 'page'), read(query, 'per_page')];
  return {
    page: page === undefined || page < 1 ? 1 : page,
    perPage: perPage === undefined || perPage < 1 ? PER_PAGE : Math.min(perPage, PER_PAGE_MAX),
  };
}

/** One page of a list, and the header `Link` to the others; undefined where there are none. */
export function pageOf<T>(
  all: readonly T[],
  { page, perPage }: PageOptions,
  address: URL,
): { items: readonly T[]; link: string | undefined } {
  const last = Math.max(1, Math.ceil(all.length / perPage));
  const to = (number: number, rel: string): string => {
    const url = new URL(address);
    url.searchParams.set('page', String(number));
    return `<${url.href}>; rel="${rel}"`;
  };
  const links = [
    ...(page > 1 ? [to(Math.min(page - 1, last), 'prev')] : []),
    ...(page < last ? [to(page + 1, 'next'), to(last, 'last')] : []),
    ...(page > 1 ? [to(1, 'first')] : []),
  ];
  return {
    items: all.slice((page - 1) * perPage, page * perPage),
    link: links.length === 0 ? undefined : links.join(', '),
  };
}

/** The header `Link` of a page whose neighbours are known by cursors; undefined = it has none. Pure. */
export function cursorLinks(
  { prev, next }: { prev: string | undefined; next: string | undefined },
  address: URL,
): string | undefined {
  const links = Object.entries({ prev, next }).flatMap(([rel, cursor]) => {
    const url = new URL(address);
    url.searchParams.set('cursor', cursor ?? '');
    return cursor === undefined ? [] : [`<${url.href}>; rel="${rel}"`];
  });
  return links.length === 0 ? undefined : links.join(', ');
}

function read(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === '') {
    return undefined;
  }
  const number = Number(text);
  refuseInvalid([
    Number.isSafeInteger(number)
      ? undefined
      : { resource: 'Page', field: name, code: 'invalid', message: 'must be a whole number', value: text },
  ]);
  return number;
}
