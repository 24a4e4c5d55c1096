import type { HubPagesPort, PageVisit } from '../../types/hub/pages.ts';
import type { Html } from './html.ts';

/** What the handler of a page sees of a request. */
export interface PageRequest {
  pages: HubPagesPort;
  visit: PageVisit;
  /** With the query: where to come back to. */
  path: string;
  /** Decoded. */
  params: Readonly<Record<string, string>>;
  query: URLSearchParams;
  /** Empty where none is sent. */
  form: URLSearchParams;
  /** For the forms of the page. */
  mark: string;
  /** Where the request comes from. */
  address: string;
  /** Where clients find the hub, without a slash at its end. */
  baseUrl: string;
}

export type PageResult =
  | { kind: 'page'; title: string; body: Html; status?: number }
  /** To a path of this site. `session`: the secret of who has signed in; null = who has signed out. */
  | { kind: 'redirect'; to: string; session?: { secret: string; lifetimeS: number } | null };

export interface PageRoute {
  /** `page.tokens`. */
  id: string;
  method: 'GET' | 'POST';
  path: string;
  handler(request: PageRequest): PageResult | Promise<PageResult>;
}

/** A path of this site, whatever was asked for: nobody is sent elsewhere by a link to a page of ours. */
export function ownPath(path: string | null): string {
  return path !== null && /^\/(?![/\\])[\x21-\x7e]*$/.test(path) && !path.includes('\\') ? path : '/';
}
