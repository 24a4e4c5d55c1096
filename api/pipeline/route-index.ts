import { Router } from '@koa/router';
import type { Middleware, ParameterizedContext } from 'koa';
import { invariant } from '../../daemon/base/errors.ts';
import type { Route } from '../routes/route.ts';

/** What a request carries from one middleware to the next. */
export interface RequestState {
  version: number;
  params?: Record<string, string>;
}

export type ApiContext = ParameterizedContext<RequestState>;
export type RouteMiddleware = Middleware<RequestState>;

/** `/containers/:id/json`, the shape of most requests. */
const ONE_PARAMETER = /^(\/[^/:*]+\/):(\w+)(\/[^/:*]+)$/;

/** A route of that shape. */
interface OneParameter {
  name: string;
  serve: RouteMiddleware;
}

/**
 * Finds the routes of a request without trying a hundred patterns: paths without parameters or with one in the middle
 * by one look-up, the others by a small @koa/router for their method and first segment (at most a dozen patterns each).
 */
export class RouteIndex {
  readonly #static = new Map<string, RouteMiddleware>();
  readonly #oneParameter = new Map<string, OneParameter>();
  readonly #buckets = new Map<string, RouteMiddleware>();

  constructor(routes: readonly Route[], serve: (route: Route) => RouteMiddleware) {
    const routers = new Map<string, Router>();
    const ids = new Set<string>();
    for (const route of routes) {
      invariant(!ids.has(route.id), `two routes have the id ${route.id}`);
      ids.add(route.id);
      if (!/[:*]/.test(route.path)) {
        for (const path of [route.path, route.alsoAt ?? route.path]) {
          this.#static.set(`${route.method} ${path}`, serve(route));
        }
        continue;
      }
      const [, first, name, last] = ONE_PARAMETER.exec(route.path) ?? [];
      if (name !== undefined) {
        this.#oneParameter.set(`${route.method} ${first}*${last}`, { name, serve: serve(route) });
        continue;
      }
      const key = bucketKey(route.method, route.path);
      const router = routers.get(key) ?? new Router({ sensitive: true, strict: true });
      routers.set(key, router);
      const serveRoute = serve(route);
      router.register(route.path, [route.method], (ctx, next) => {
        // @koa/router puts the parameters on the context, which it types for its own state.
        ctx.state.params = ctx.params;
        return serveRoute(ctx, next);
      });
    }
    for (const [key, router] of routers) {
      const middleware: unknown = router.routes();
      // The router types the context for its own state; it adds properties and takes none of ours away.
      this.#buckets.set(key, middleware as RouteMiddleware);
    }
  }

  /** The middlewares that may serve `path` (without version), in order. Usually one; empty where there is none. */
  find(method: string, path: string): readonly RouteMiddleware[] {
    const exact = this.#static.get(`${method} ${path}`) ?? this.#withOneParameter(method, path);
    const bucket = this.#buckets.get(bucketKey(method, path));
    if (exact === undefined) {
      return bucket === undefined ? [] : [bucket];
    }
    return bucket === undefined ? [exact] : [exact, bucket];
  }

  #withOneParameter(method: string, path: string): RouteMiddleware | undefined {
    const from = path.indexOf('/', 1) + 1;
    const to = path.indexOf('/', from);
    const found =
      to > from && from > 0
        ? this.#oneParameter.get(`${method} ${path.slice(0, from)}*${path.slice(to)}`)
        : undefined;
    return (
      found &&
      ((ctx, next) => {
        ctx.state.params = { [found.name]: decoded(path.slice(from, to)) };
        return found.serve(ctx, next);
      })
    );
  }
}

/** As @koa/router does it: what is no encoding stays as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // URIError, the only one.
    return text;
  }
}

function bucketKey(method: string, path: string): string {
  const end = path.indexOf('/', 1);
  return `${method} ${end === -1 ? path : path.slice(0, end)}`;
}
