import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Router } from '@koa/router';
import Koa from 'koa';
import type { Context, Middleware } from 'koa';
import { EngineError, invalidArgument, notFound, notImplemented } from '../../daemon/base/errors.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import { UnreadBodyError } from '../pipeline/body.ts';
import type { HubPagesPort } from '../types/hub/pages.ts';
import type { HubCredentials } from '../types/hub/credentials.ts';
import type { HubAdmission, HubPort, HubSession } from '../types/hub/ports.ts';
import { toHubFailure } from './errors.ts';
import { shapedFailure } from './oauth/errors.ts';
import { readParameters } from './oauth/parameters.ts';
import { createPages } from './pages/serve-pages.ts';
import { addressOf } from './request/address.ts';
import { BodyValidator, readObject } from './request/body.ts';
import { cursorLinks, pageOf, readPage } from './request/pages.ts';
import { rateHeaders } from './request/rate-headers.ts';
import { readVersion, type HubVersion } from './request/version.ts';
import { WorkTime } from './request/work-time.ts';
import { createRegistryApi } from './registry/registry-api.ts';
import { HUB_ROUTES } from './routes/index.ts';
import { hubRoute, type HubResult, type HubRoute, type ServedHubRoute } from './routes/route.ts';

export interface HubApiDeps {
  hub: HubPort;
  pages: HubPagesPort;
  log: Logger;
  /** Where clients find the hub, without a slash at its end: links lead there. */
  baseUrl: string;
  /** Version of the engine, for the Server header. */
  version: string;
}

/** Where a request came in: at the hub's own listener with credentials, or at the engine's socket as root. */
export type Entrance = 'listener' | 'engine';

export interface HubApi {
  /** `url`: the target without the prefix of the entrance. */
  handle(req: IncomingMessage, res: ServerResponse, entrance: Entrance, url: string): void;
}

/** The HTTP of the hub: one Koa application over its route table. */
export function createHubApi(deps: HubApiDeps): HubApi {
  const validator = new BodyValidator();
  const router = new Router({ sensitive: true, strict: true });
  for (const route of HUB_ROUTES) {
    router.register(route.path, [route.method], serveRoute(route, deps, validator));
  }
  const app = new Koa();
  app.on('error', (error: unknown) => deps.log.debug({ err: error }, 'connection error'));
  app.use(answerErrors(deps));
  const routes: unknown = router.routes();
  // The router types the context for its own state; it adds properties and takes none of ours away.
  app.use(routes as Middleware);
  app.use(serveRoute(NOWHERE, deps, validator));
  const handle = app.callback();
  const registry = createRegistryApi({ ...deps, registry: deps.hub.registry });
  const pages = createPages(deps);
  return {
    handle: (req, res, entrance, target) => {
      if (addressOf(target, deps.baseUrl) === undefined) {
        refuseTarget(res, deps);
        return;
      }
      if (entrance === 'listener' && registry.handle(req, res, target)) {
        return;
      }
      const url = target.startsWith(`${PREFIX}/`) ? target.slice(PREFIX.length) : target;
      entrances.set(req, entrance);
      req.url = url;
      if (entrance === 'listener' && pages.isFor(req, url)) {
        pages.handle(req, res);
        return;
      }
      void handle(req, res).catch((error: unknown) => {
        deps.log.error({ err: error }, 'a request of the hub was not answered');
      });
    },
  };
}

/** Of operations for clients that take the hub for a GitHub Enterprise Server, as gh does of every host but one. */
const PREFIX = '/api/v3';

/** By request: Koa makes the context itself. */
const entrances = new WeakMap<IncomingMessage, Entrance>();

/** Neither Koa nor the router can say where that leads. */
function refuseTarget(res: ServerResponse, { baseUrl }: HubApiDeps): void {
  const error = invalidArgument('the target of the request is no address');
  const { status, body } = toHubFailure(error, `${baseUrl}/docs`);
  res.writeHead(status, { 'Content-Type': 'application/json; charset=utf-8', Connection: 'close' });
  res.end(JSON.stringify(body));
}

/** Of the request; what is none has been refused. */
function addressIn(ctx: Context, baseUrl: string): URL {
  return addressOf(ctx.url, baseUrl) ?? new URL(baseUrl);
}

/** Outermost: everything that is thrown becomes a status and an error of GitHub's shape. */
function answerErrors({ log, baseUrl, version }: HubApiDeps): Middleware {
  return async (ctx, next) => {
    ctx.set('Server', `Berth/${version}`);
    ctx.set('X-Content-Type-Options', 'nosniff');
    try {
      await next();
    } catch (error) {
      const failure = toHubFailure(error, `${baseUrl}/docs`);
      const { status, headers, body, level } = shapedFailure(ctx.path, error, failure);
      log[level]({ method: ctx.method, path: ctx.path, status, err: error }, 'request of the hub failed');
      ctx.status = status;
      ctx.set(headers);
      if (error instanceof UnreadBodyError) {
        ctx.set('Connection', 'close');
      }
      answerJson(ctx, body);
    }
  };
}

/** What no operation has. It is counted as all else is: who asks for nothing must not ask for ever. */
const NOWHERE = hubRoute({
  id: 'hub.nowhere',
  method: 'GET',
  path: '',
  handler: () => {
    throw notFound('Not Found');
  },
});

/** A name of the client, and a version that is served: as GitHub asks. Throws forbidden, and as `readVersion`. */
function checkRequest(ctx: Context): HubVersion {
  // Libraries of OAuth send none, and GitHub has no such paths.
  const isOfGitHub = !/^\/(v1\/organizations|oauth)\//.test(ctx.path);
  if (isOfGitHub && entrances.get(ctx.req) === 'listener' && ctx.get('User-Agent') === '') {
    throw new EngineError(
      'forbidden',
      'Request forbidden by administrative rules. Please make sure your request has a User-Agent header.',
    );
  }
  const version = readVersion(ctx.get('X-Svc-Api-Version') || ctx.get('X-GitHub-Api-Version') || undefined);
  ctx.set('X-Svc-Api-Version-Selected', version);
  ctx.set('X-GitHub-Api-Version-Selected', version);
  return version;
}

function serveRoute(route: HubRoute, deps: HubApiDeps, validator: BodyValidator) {
  return async (ctx: Context & { params?: Record<string, string> }): Promise<void> => {
    if ('refused' in route) {
      throw notImplemented(route.refused);
    }
    const work = new WorkTime();
    const { baseUrl, version: engineVersion } = deps;
    const checked = outcomeOf(() => checkRequest(ctx));
    const session = await work.run(() => countedSession(ctx, deps.hub, route));
    tellScopes(ctx, route, session);
    const admission = admitted(ctx, route, session);
    try {
      // Only now: what is refused says what of the hour is left, too.
      const version = checked();
      const query = new URLSearchParams(ctx.querystring);
      const body = await bodyOf(ctx, route, validator);
      const credentials = credentialsOf(ctx);
      const url = addressIn(ctx, baseUrl).href;
      const params = ctx.params ?? {};
      const request = { params, query, body, version, session, credentials, engineVersion, baseUrl, url };
      const result = await work.run(() => route.handler(request));
      work.run(() => send(ctx, result, baseUrl));
      sayLeftOut(ctx, session);
    } finally {
      admission.done(ctx.status === 304, work.ms);
    }
    ctx.set(rateHeaders(ctx.status === 304 ? session.rate() : admission.status));
  };
}

/** Does it now, and answers or throws what came of it when it is asked. */
function outcomeOf<T>(work: () => T): () => T {
  try {
    const value = work();
    return () => value;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

/** Who is not known is counted by its address, as who shows nothing. Throws as `sessionOf` and `admitted`. */
async function countedSession(ctx: Context, hub: HubPort, route: ServedHubRoute): Promise<HubSession> {
  try {
    return await sessionOf(ctx, hub, route);
  } catch (error) {
    const nobody = hub.session({ ...credentialsOf(ctx), authorization: undefined });
    admitted(ctx, route, nobody).done(false);
    throw error;
  }
}

/** Organizations that the token is to be authorized for, before what is theirs stands in lists. */
function sayLeftOut(ctx: Context, { organizationsLeftOut }: HubSession): void {
  if (organizationsLeftOut.length > 0) {
    const text = `partial-results; organizations=${organizationsLeftOut.join(',')}`;
    ctx.set({ 'X-Svc-SSO': text, 'X-GitHub-SSO': text });
  }
}

/** What a token has and what it needs (GitHub: scopes of OAuth apps, permissions of fine-grained tokens). */
function tellScopes(ctx: Context, { accepts }: ServedHubRoute, { scopes }: HubSession): void {
  if (scopes !== undefined) {
    ctx.set('X-OAuth-Scopes', scopes.join(', '));
  }
  if (accepts !== undefined) {
    ctx.set('X-Accepted-OAuth-Scopes', accepts.scopes.join(', '));
    ctx.set('X-Accepted-Svc-Permissions', accepts.permissions);
    ctx.set('X-Accepted-GitHub-Permissions', accepts.permissions);
  }
}

/** Throws forbidden where the caller has asked too much; the headers say so with every answer. */
function admitted(ctx: Context, route: ServedHubRoute, session: HubSession): HubAdmission {
  const { id, method } = route;
  try {
    const isFree = route.isFree === true;
    return session.admit({ operation: id, method, isContent: method === 'POST', isFree });
  } finally {
    ctx.set(rateHeaders(session.rate()));
  }
}

function sessionOf(
  ctx: Context,
  hub: HubPort,
  { isOpen, isSearch }: ServedHubRoute,
): HubSession | Promise<HubSession> {
  if (entrances.get(ctx.req) === 'engine') {
    return hub.session('root');
  }
  const credentials = credentialsOf(ctx);
  if (isSearch === true) {
    return hub.openForSearch(credentials);
  }
  return isOpen === true ? hub.session({ ...credentials, authorization: undefined }) : hub.open(credentials);
}

function credentialsOf(ctx: Context): HubCredentials {
  const authorization = ctx.get('Authorization');
  return {
    authorization: authorization === '' ? undefined : authorization,
    address: ctx.req.socket.remoteAddress ?? '',
  };
}

async function bodyOf(ctx: Context, route: ServedHubRoute, validator: BodyValidator): Promise<unknown> {
  if (route.parameters !== undefined) {
    return await readParameters(ctx.req, new URLSearchParams(ctx.querystring), route.parameters);
  }
  return route.body && (await readObject(ctx.req, route.body, validator));
}

function send(ctx: Context, result: HubResult, baseUrl: string): void {
  switch (result.kind) {
    case 'empty':
      ctx.status = result.status;
      break;
    case 'list': {
      const query = new URLSearchParams(ctx.querystring);
      const { items, link } = pageOf(result.items, readPage(query), addressIn(ctx, baseUrl));
      if (link !== undefined) {
        ctx.set('Link', link);
      }
      ctx.status = 200;
      answerJson(ctx, result.wrap?.(items) ?? items);
      break;
    }
    case 'bytes':
      ctx.status = 200;
      ctx.type = result.mediaType;
      ctx.set({ 'Cache-Control': 'public, max-age=3600', 'Content-Security-Policy': "default-src 'none'" });
      ctx.body = result.bytes;
      break;
    case 'page': {
      const link = cursorLinks(result, addressIn(ctx, baseUrl));
      if (link !== undefined) {
        ctx.set('Link', link);
      }
      ctx.status = 200;
      answerJson(ctx, result.items);
      break;
    }
    case 'json':
      ctx.status = result.status;
      if (result.location !== undefined) {
        ctx.set('Location', result.location);
      }
      if (result.isSecret === true) {
        ctx.set({ 'Cache-Control': 'no-store', Pragma: 'no-cache' });
      }
      answerJson(ctx, result.body);
      break;
  }
}

/** With an ETag, by which a client that has the answer already gets 304. */
function answerJson(ctx: Context, body: unknown): void {
  const text = JSON.stringify(body);
  ctx.type = 'application/json; charset=utf-8';
  if (ctx.status === 200 && (ctx.method === 'GET' || ctx.method === 'HEAD')) {
    ctx.set('Cache-Control', 'private, max-age=0, must-revalidate');
    ctx.set('Vary', 'Accept, Authorization');
    ctx.etag = createHash('sha256').update(text).digest('hex');
    if (ctx.fresh) {
      ctx.status = 304;
      return;
    }
  }
  ctx.body = text;
}
