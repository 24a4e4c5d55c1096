import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { Router } from '@koa/router';
import Koa from 'koa';
import type { Context, Middleware } from 'koa';
import { EngineError, notImplemented } from '../../daemon/base/errors.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import { UnreadBodyError } from '../pipeline/body.ts';
import type { ClusterCredentials, ClusterPorts } from '../types/cluster/ports.ts';
import { CLUSTER_FAMILIES } from './families.ts';
import type { ClusterFamily, ClusterRequest, ClusterRoute } from './family.ts';

export interface ClusterApiDeps {
  ports: ClusterPorts;
  log: Logger;
  /** Version of the engine, for the Server header. */
  version: string;
}

export interface ClusterApi {
  /** `url`: the target without the prefix of the entrance. */
  handle(req: IncomingMessage, res: ServerResponse, entrance: Entrance, url: string): void;
}

export type Entrance = ClusterCredentials['entrance'];

/** By request: Koa makes the context itself. */
const entrances = new WeakMap<IncomingMessage, Entrance>();

/** The HTTP of the cluster interface: one Koa application over the routes of its families. */
export function createClusterApi(deps: ClusterApiDeps): ClusterApi {
  const router = new Router({ sensitive: true, strict: true });
  for (const family of CLUSTER_FAMILIES) {
    for (const route of family.routes) {
      router.register(route.path, [route.method], serveRoute(family, route, deps));
    }
  }
  const app = new Koa();
  app.on('error', (error: unknown) => deps.log.debug({ err: error }, 'connection error'));
  app.use(answerErrors(deps));
  const routes: unknown = router.routes();
  // The router types the context for its own state; it adds properties and takes none of ours away.
  app.use(routes as Middleware);
  app.use((ctx) => {
    const absent = familyOf(ctx.path).absent?.(ctx.path);
    if (absent !== undefined) {
      throw notImplemented(`${absent} are not implemented`);
    }
    const isKnown = router.match(ctx.path, ctx.method).path.length > 0;
    throw isKnown
      ? new EngineError(
          'invalid_argument',
          'the server does not allow this method on the requested resource',
          {
            details: { reason: 'MethodNotAllowed' },
          },
        )
      : new EngineError('not_found', 'the server could not find the requested resource');
  });
  const handle = app.callback();
  return {
    handle: (req, res, entrance, url) => {
      entrances.set(req, entrance);
      req.url = url;
      void handle(req, res).catch((error: unknown) => {
        deps.log.error({ err: error }, 'a request of the cluster interface was not answered');
      });
    },
  };
}

/** Outermost: everything that is thrown becomes an error in the shape of the family whose path it is. */
function answerErrors({ log, version }: ClusterApiDeps): Middleware {
  return async (ctx, next) => {
    ctx.set('Server', `Berth/${version}`);
    ctx.set('X-Content-Type-Options', 'nosniff');
    ctx.set('Cache-Control', 'no-cache, private');
    try {
      await next();
    } catch (error) {
      const { method, path } = ctx;
      const { status, headers, contentType, body, level } = familyOf(path).failure(error, { method, path });
      log[level]({ method, path, status, err: error }, 'request of the cluster interface failed');
      if (ctx.res.headersSent) {
        ctx.res.destroy();
        return;
      }
      ctx.status = status;
      ctx.set(headers);
      if (error instanceof UnreadBodyError) {
        ctx.set('Connection', 'close');
      }
      ctx.type = contentType;
      ctx.body = body;
    }
  };
}

function familyOf(path: string): ClusterFamily {
  const found = CLUSTER_FAMILIES.find((family) => family.isFor(path)) ?? CLUSTER_FAMILIES.at(-1);
  if (found === undefined) {
    throw new EngineError('internal', 'the cluster interface serves nothing');
  }
  return found;
}

function serveRoute(family: ClusterFamily, route: ClusterRoute, { ports }: ClusterApiDeps) {
  return async (ctx: Context & { params: Record<string, string> }): Promise<void> => {
    const request = requestOf(ctx);
    const caller =
      route.isOpen === true ? { name: 'anyone', mayWrite: false } : await family.identify(request, ports);
    const result = await route.handler({ ...request, caller }, ports);
    if (result.kind === 'taken') {
      ctx.respond = false;
      await result.serve(ctx.res);
      return;
    }
    const { status, body, contentType, headers = {} } = result;
    ctx.status = status;
    for (const [name, value] of Object.entries(headers)) {
      ctx.set(name, typeof value === 'string' ? value : [...value]);
    }
    if (body !== undefined) {
      ctx.type = contentType ?? 'application/json';
      ctx.body = body;
    }
  };
}

function requestOf(ctx: Context & { params: Record<string, string> }): ClusterRequest {
  const [path, rawQuery] = splitAt(ctx.url, ctx.url.indexOf('?'));
  return {
    method: ctx.method,
    path,
    params: ctx.params,
    query: new URLSearchParams(rawQuery),
    rawQuery,
    req: ctx.req,
    credentials: credentialsOf(ctx),
  };
}

function splitAt(text: string, index: number): [string, string] {
  return index < 0 ? [text, ''] : [text.slice(0, index), text.slice(index + 1)];
}

function credentialsOf({ req }: Context): ClusterCredentials {
  return {
    entrance: entrances.get(req) ?? 'listener',
    certificate: certificateOf(req.socket),
    authorization: req.headers.authorization,
    address: req.socket.remoteAddress ?? '',
  };
}

/** The common name of a client's certificate that the authority vouches for. */
function certificateOf(socket: Socket): string | undefined {
  if (!(socket instanceof TLSSocket) || !socket.authorized) {
    return undefined;
  }
  const { subject } = socket.getPeerCertificate();
  const name: unknown = Object(subject)['CN'];
  return typeof name === 'string' ? name : 'certificate without a name';
}
