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
  /** Those that somebody has chosen in the form, by the names of their fields. */
  files: ReadonlyMap<string, Buffer>;
  /** For the forms of the page. */
  mark: string;
  /** Where the request comes from. */
  address: string;
  /** Where clients find the hub, without a slash at its end. */
  baseUrl: string;
}

export type PageResult =
  /** `formTarget`: an origin that the answer to a form of the page may lead to. */
  | { kind: 'page'; title: string; body: Html; status?: number; formTarget?: string }
  /** To an application that a user was asked about: its address is registered. */
  | { kind: 'leave'; to: string }
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

export function page(title: string, body: Html) {
  return { kind: 'page', title, body } as const;
}

/** To a path of this site. */
export function redirect(to: string): PageResult {
  return { kind: 'redirect', to };
}

/** Who is not signed in does that first, and comes back. */
export function withLogin(
  { visit, path }: PageRequest,
  serve: (login: string) => PageResult | Promise<PageResult>,
): PageResult | Promise<PageResult> {
  return visit.login === undefined
    ? redirect(`/login?return_to=${encodeURIComponent(path)}`)
    : serve(visit.login);
}
