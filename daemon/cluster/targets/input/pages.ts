import { Fields } from './fields.ts';
import { targetLimits } from '../limits.ts';

export interface PageRequest {
  maxResults: number;
  /** Key of the last item of the page before; '' = from the beginning. */
  after: string;
}

/** `maxResults` and `nextToken` of a query. Throws InvalidFieldsError. */
export function readPageRequest(query: URLSearchParams): PageRequest {
  const asked = query.get('maxResults');
  const token = query.get('nextToken') ?? '';
  const number = asked !== null && /^\d+$/.test(asked) ? Number(asked) : asked;
  const fields = new Fields({ maxResults: number ?? undefined }, 'Page');
  const maxResults = fields.integer('maxResults', 1, targetLimits.pageMax) ?? targetLimits.pageMax;
  const after = Buffer.from(token, 'base64url').toString();
  if (token !== '' && Buffer.from(after).toString('base64url') !== token) {
    fields.wrong('nextToken', 'must be the nextToken of a page before', token);
  }
  fields.refuse();
  return { maxResults, after };
}

/** One page of items that are in the order of their keys. Pure. */
export function pageOf<T>(
  items: readonly T[],
  keyOf: (item: T) => string,
  { maxResults, after }: PageRequest,
): { items: T[]; nextToken?: string } {
  const left = items.filter((item) => keyOf(item) > after);
  const page = left.slice(0, maxResults);
  const last = page.at(-1);
  return {
    items: page,
    ...(last !== undefined &&
      left.length > maxResults && { nextToken: Buffer.from(keyOf(last)).toString('base64url') }),
  };
}
