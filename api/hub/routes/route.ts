import { notFound } from '../../../daemon/base/errors.ts';
import type { HubCredentials } from '../../types/hub/credentials.ts';
import type { HubSession } from '../../types/hub/ports.ts';
import type { ParameterPlaces } from '../oauth/parameters.ts';
import type { BodySchema } from '../request/body.ts';
import type { HubVersion } from '../request/version.ts';

/** What a handler sees of a request. */
export interface HubRequest<Body> {
  /** Decoded. */
  params: Readonly<Record<string, string>>;
  body: Body;
  query: URLSearchParams;
  version: HubVersion;
  session: HubSession;
  /** What the request shows, where an operation looks itself. */
  credentials: HubCredentials;
  engineVersion: string;
  /** Where clients find the hub, without a slash at its end. */
  baseUrl: string;
  /** Of this request, as clients see it. */
  url: string;
}

export type HubResult =
  | { kind: 'json'; status: 200 | 201 | 202; body: unknown; location?: string; isSecret?: boolean }
  /** A list, of which the client gets one page. */
  | { kind: 'list'; items: readonly unknown[]; wrap?: (page: readonly unknown[]) => object }
  /** One page of a list that is too long to count, with the cursors of those behind and before it. */
  | { kind: 'page'; items: readonly unknown[]; next: string | undefined; prev: string | undefined }
  /** An image. */
  | { kind: 'bytes'; mediaType: string; bytes: Buffer }
  | { kind: 'empty'; status: 204 };

interface RouteName {
  /** `repository.get`. */
  id: string;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** `/repos/:owner/:repo`. */
  path: string;
}

/** One operation of the hub. */
export type HubRoute = ServedHubRoute | RefusedHubRoute;

export interface AcceptedTokens {
  /** `repository_hooks=read`. */
  permissions: string;
  scopes: readonly string[];
}

/** It answers 501 with the sentence. */
export interface RefusedHubRoute extends RouteName {
  refused: string;
}

export interface ServedHubRoute extends RouteName {
  /** What tokens need for it, for headers of every answer; absent = it depends on what is asked for. */
  accepts?: AcceptedTokens;
  /** It costs nothing of the hour's requests. */
  isFree?: boolean;
  /** Undefined = a body is not read, but for parameters. */
  body: BodySchema | undefined;
  /** It takes texts by name, and where they may stand; the handler's body is these. */
  parameters?: ParameterPlaces;
  /** The header `Authorization` is not looked at before: it is no token, or there need be none. */
  isOpen?: boolean;
  /** Engines ask it, who may show a token of the registry. */
  isSearch?: boolean;
  handler(request: HubRequest<unknown>): HubResult | Promise<HubResult>;
}

/** A route whose handler gets the body as the type that its schema says. */
export function hubRoute<Body = undefined>(definition: {
  id: string;
  method: RouteName['method'];
  path: string;
  body?: BodySchema;
  isFree?: boolean;
  isOpen?: boolean;
  isSearch?: boolean;
  parameters?: ParameterPlaces;
  accepts?: AcceptedTokens;
  handler: (request: HubRequest<Body>) => HubResult | Promise<HubResult>;
}): ServedHubRoute {
  const { handler } = definition;
  return {
    ...definition,
    body: definition.body,
    // The schema of the route has checked the body against `Body` before the handler sees it.
    handler: (request) => handler(request as HubRequest<Body>),
  };
}

export const ok = (body: unknown): HubResult => ({ kind: 'json', status: 200, body });
/** `wrap`: what the page stands in; absent = it is the answer. */
export const list = (items: readonly unknown[], wrap?: (page: readonly unknown[]) => object): HubResult => ({
  kind: 'list',
  items,
  ...(wrap && { wrap }),
});
export const none = (): HubResult => ({ kind: 'empty', status: 204 });

/** 201 with the address of what was made. */
export function made(body: object): HubResult {
  const location: unknown = 'url' in body ? body.url : undefined;
  return { kind: 'json', status: 201, body, ...(typeof location === 'string' && { location }) };
}

/** A parameter of the path; the router has found it. */
export function param({ params }: Pick<HubRequest<unknown>, 'params'>, name: string): string {
  return params[name] ?? '';
}

/** As `param`, of an id. Throws not_found for what is none. */
export function idParam(request: Pick<HubRequest<unknown>, 'params'>, name: string): number {
  const text = param(request, name);
  if (!/^[1-9]\d{0,14}$/.test(text)) {
    throw notFound('Not Found');
  }
  return Number(text);
}

/** 202: it is done later. */
export const accepted = (): HubResult => ({ kind: 'json', status: 202, body: {} });
