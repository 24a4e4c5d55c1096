import { expect, it } from 'vitest';
import { RouteIndex } from '../../../api/pipeline/route-index.ts';
import type { ApiContext } from '../../../api/pipeline/route-index.ts';
import { ROUTES } from '../../../api/routes/index.ts';

/** Ids of the routes that serve a path, with the parameters they see. */
async function served(method: string, path: string): Promise<unknown[]> {
  const seen: unknown[] = [];
  const index = new RouteIndex(ROUTES, (route) => async (ctx, next) => {
    seen.push([route.id, ctx.state.params ?? {}]);
    await next();
  });
  for (const serve of index.find(method, path)) {
    // All that a router reads of it.
    const ctx = { method, path, newRouterPath: path, request: {}, state: {} } as unknown as ApiContext;
    await serve(ctx, () => Promise.resolve());
  }
  return seen;
}

it.each([
  ['GET', '/info', ['system.info', {}]],
  ['GET', '/containers/web/json', ['container.inspect', { id: 'web' }]],
  ['GET', '/containers/w%65b%2Fx/json', ['container.inspect', { id: 'web/x' }]],
  ['GET', '/containers/50%/json', ['container.inspect', { id: '50%' }]],
  ['POST', '/networks/n/connect', ['network.connect', { id: 'n' }]],
  ['GET', '/containers/web/attach/ws', ['container.attachWebsocket', { id: 'web' }]],
  ['GET', '/images/a/b/json', ['image.inspect', { name: 'a/b' }]],
  ['GET', '/containers//json'],
  ['GET', '/containers/web/json/'],
  ['GET', '/containers/web/JSON'],
  ['POST', '/containers/web/json'],
  ['GET', '/containers/a/b/json'],
  ['GET', '/'],
])('routes: %s %s', async (method, path, ...expected) => {
  expect(await served(method, path)).toEqual(expected);
});
