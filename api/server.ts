import { ServerResponse } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import Koa from 'koa';
import { EngineError, invalidArgument } from '../daemon/base/errors.ts';
import type { Logger } from '../daemon/base/logger.ts';
import { serveBuildkit } from './buildkit/serve.ts';
import { toHttpFailure } from './errors.ts';
import { UnreadBodyError } from './pipeline/body.ts';
import { jsonLine } from './pipeline/json-text.ts';
import { Reply } from './pipeline/reply.ts';
import { RouteIndex } from './pipeline/route-index.ts';
import type { ApiContext, RequestState, RouteMiddleware } from './pipeline/route-index.ts';
import { serve } from './pipeline/serve.ts';
import type { ServeDeps } from './pipeline/serve.ts';
import type { EnginePorts } from './types/ports.ts';
import { ROUTES } from './routes/index.ts';
import type { Route } from './routes/route.ts';
import { Validator } from './schemas/validator.ts';
import { CHANGES } from './versions/changes/index.ts';
import { Dialects } from './versions/dialect.ts';
import { NEWEST, formatVersion, isServedAt, splitVersion } from './versions/version.ts';

/** What the edge tells about the engine and decides by. */
export interface ApiFacts {
  /** Version of the engine, for the Server header. */
  version: string;
  experimental: boolean;
  /** `linux`. */
  os: string;
  cgroupVersion: 1 | 2;
}

export interface ApiDeps {
  ports: EnginePorts;
  log: Logger;
  facts: ApiFacts;
  /** The web site whose pages may use the API, `*` for all; empty or absent = none. */
  allowedOrigin?: string;
  /** What answers the requests below a path (`/hub`), with their target without it. */
  mounts?: ReadonlyMap<string, (req: IncomingMessage, res: ServerResponse, url: string) => void>;
}

/** The two events of a `node:http` server that the API answers (see listen.ts), and how to end it. */
export interface Api {
  onRequest: (req: IncomingMessage, res: ServerResponse) => void;
  /** Requests with an Upgrade header. They walk the same way; `head` is what came after the request's headers. */
  onUpgrade: (req: IncomingMessage, socket: Socket, head: Buffer) => void;
  /** A connection that began with the preface of HTTP/2, from that on. */
  onHttp2: (socket: Socket) => void;
  /** As in `ApiDeps`. */
  allowedOrigin: string;
  /** Tells every request that waits (logs, events, wait, load, ...) that the daemon is stopping. */
  endStreams: () => void;
}

/** Builds the API: one Koa application over the route table. Nothing is compiled or connected yet. */
export function createApi(deps: ApiDeps): Api {
  const upgraded = new WeakMap<IncomingMessage, Socket>();
  const lastAnswers = new WeakMap<Socket, ServerResponse>();
  const running = new Set<AbortController>();
  const hijacked = new Set<{ end(): void }>();
  const { allowedOrigin = '' } = deps;
  const common = [...commonHeaders(deps.facts), ...corsHeaders(allowedOrigin)];
  const serveDeps: ServeDeps = {
    ports: deps.ports,
    log: deps.log,
    dialects: new Dialects(CHANGES, deps.facts),
    validator: new Validator(),
    running,
    hijacked,
  };
  const replyTo = (ctx: ApiContext): Reply =>
    new Reply(ctx.req, ctx.res, { common, upgraded: upgraded.get(ctx.req) });
  const index = new RouteIndex(ROUTES, (route) => serveRoute(route, serveDeps, { upgraded, replyTo }));

  const app = new Koa<RequestState>();
  app.on('error', (error: unknown) => deps.log.debug({ err: error }, 'connection error'));
  app.use(answerErrors(deps.log, replyTo));
  app.use(dispatch(index, replyTo));
  const handle = app.callback();

  const onRequest = (req: IncomingMessage, res: ServerResponse): void => {
    lastAnswers.set(req.socket, res);
    if (res.socket === null) {
      // Sent before the last answer was given: until then there is no connection to answer on, or to hear the end of.
      // A client that leaves meanwhile has asked for nothing.
      res.once('socket', () => begin(req, res));
    } else {
      begin(req, res);
    }
  };
  const begin = (req: IncomingMessage, res: ServerResponse): void => {
    if (req.socket.writableEnded) {
      // It follows a request that was refused and closed: its answer would reach no client, so it is not served.
      return;
    }
    if (isMounted(deps.mounts, req, res)) {
      return;
    }
    // Koa answers its own errors; ours are answered by the first middleware.
    void handle(req, res).catch((error: unknown) => {
      deps.log.error({ err: error }, 'a request was not answered');
    });
  };
  return {
    allowedOrigin,
    onRequest,
    onUpgrade: (req, socket, head) => {
      // The HTTP server has released it.
      socket.on('error', () => socket.destroy());
      afterAnswer(lastAnswers.get(socket), () => {
        upgraded.set(req, socket);
        begin(req, responseOn(req, socket, head));
      });
    },
    onHttp2: (socket) => serveHttp2(socket, deps, hijacked),
    endStreams: () => {
      for (const controller of running) {
        controller.abort(new EngineError('canceled', 'the daemon is stopping'));
      }
      for (const connection of hijacked) {
        connection.end();
      }
    },
  };
}

/** Serves gRPC to who speaks HTTP/2 from the first byte on. Browsers do not without TLS and its negotiation. */
function serveHttp2(socket: Socket, { ports, log }: ApiDeps, open: Set<{ end(): void }>): void {
  const server = serveBuildkit(socket, ports.buildkit, log);
  const ending = { end: () => server.destroy() };
  open.add(ending);
  socket.once('close', () => open.delete(ending));
}

/** Hands a request to what is mounted at the first part of its path; answers whether anything is. */
function isMounted(mounts: ApiDeps['mounts'], req: IncomingMessage, res: ServerResponse): boolean {
  const [, prefix = '', below = ''] = /^(\/[a-z]+)(\/.*)$/.exec(req.url ?? '') ?? [];
  const mount = mounts?.get(prefix);
  mount?.(req, res, below);
  return mount !== undefined;
}

/** Sent with every answer, refused versions included: clients negotiate by them. */
function commonHeaders(facts: ApiFacts): string[] {
  return [
    'Api-Version',
    formatVersion(NEWEST),
    'Docker-Experimental',
    String(facts.experimental),
    'Ostype',
    facts.os,
    'Server',
    `Docker/${facts.version} (${facts.os})`,
  ];
}

/** What browsers ask before they let a page of another site read an answer (moby api/server/middleware/cors.go). */
function corsHeaders(allowedOrigin: string): string[] {
  return allowedOrigin === ''
    ? []
    : [
        'Access-Control-Allow-Origin',
        allowedOrigin,
        'Access-Control-Allow-Headers',
        'Origin, X-Requested-With, Content-Type, Accept, X-Registry-Auth',
        'Access-Control-Allow-Methods',
        'HEAD, GET, POST, DELETE, PUT, OPTIONS',
      ];
}

/** Outermost: everything that is thrown becomes a status and `{message}`, unless an answer has begun. */
function answerErrors(log: Logger, replyTo: (ctx: ApiContext) => Reply): RouteMiddleware {
  return async (ctx, next) => {
    // Answers are written with one writeHead and one end (see Reply), not by Koa's header-by-header setters.
    ctx.respond = false;
    try {
      await next();
    } catch (error) {
      const { status, message, level } = toHttpFailure(error);
      // Without the query: build arguments and addresses with passwords stand there.
      const [path] = (ctx.req.url ?? '/').split('?', 1);
      log[level]({ method: ctx.method, path, status, err: error }, 'request failed');
      const reply = replyTo(ctx);
      if (reply.isStarted) {
        ctx.res.destroy();
        return;
      }
      if (error instanceof UnreadBodyError) {
        reply.closeAfter();
      }
      if (status === 304) {
        reply.empty(status);
      } else {
        reply.json(status, jsonLine({ message }));
      }
    }
  };
}

/** Version and route. What is not in the table is 404, whatever the method, as in dockerd. */
function dispatch(index: RouteIndex, replyTo: (ctx: ApiContext) => Reply): RouteMiddleware {
  return async (ctx) => {
    const { version, path } = splitVersion(splitUrl(ctx.req.url).path);
    if (ctx.method === 'OPTIONS') {
      replyTo(ctx).empty(200);
      return;
    }
    ctx.state.version = version;
    // Where @koa/router looks for the path in place of `ctx.path`, which still has the version.
    Object.assign(ctx, { newRouterPath: path });
    const candidates = index.find(ctx.method, path);
    const tryNext = async (at: number): Promise<void> => {
      const candidate = candidates[at];
      if (candidate === undefined) {
        throw new EngineError('not_found', 'page not found');
      }
      await candidate(ctx, () => tryNext(at + 1));
    };
    await tryNext(0);
  };
}

function serveRoute(
  route: Route,
  deps: ServeDeps,
  access: { upgraded: WeakMap<IncomingMessage, Socket>; replyTo: (ctx: ApiContext) => Reply },
): RouteMiddleware {
  return async (ctx, next) => {
    if (!isServedAt(route, ctx.state.version)) {
      await next();
      return;
    }
    const incoming = {
      req: ctx.req,
      res: ctx.res,
      upgraded: access.upgraded.get(ctx.req),
      reply: access.replyTo(ctx),
      version: ctx.state.version,
      params: ctx.state.params ?? {},
      query: new URLSearchParams(splitUrl(ctx.req.url).query),
    };
    await serve(route, incoming, deps);
  };
}

/** Path and query of a request target, which is a whole URL from clients that think of us as a proxy. */
function splitUrl(target = '/'): { path: string; query: string } {
  const url = target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?]*/, '');
  if (url.includes('%00')) {
    throw invalidArgument('the request URL must not contain a NUL character');
  }
  const queryAt = url.indexOf('?');
  return queryAt === -1
    ? { path: url, query: '' }
    : { path: url.slice(0, queryAt), query: url.slice(queryAt + 1) };
}

/** A request that takes the connection waits until all before it on the same connection have their answers. */
function afterAnswer(last: ServerResponse | undefined, next: () => void): void {
  if (last === undefined || last.closed) {
    next();
  } else {
    last.once('close', next);
  }
}

/** A response on a socket that the HTTP parser has released. The connection ends with the answer, if it is one. */
function responseOn(req: IncomingMessage, socket: Socket, head: Buffer): ServerResponse {
  // Set when the answer before this one ended: no next request is waited for.
  socket.setTimeout(0);
  if (head.length > 0) {
    socket.unshift(head);
  }
  const res = new ServerResponse(req);
  res.shouldKeepAlive = false;
  res.assignSocket(socket);
  res.once('finish', () => {
    res.detachSocket(socket);
    socket.destroySoon();
  });
  return res;
}
