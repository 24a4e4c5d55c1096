import { notFound } from '../../../daemon/base/errors.ts';
import type { HookConfigRequest, HookCreateRequest, HookEditRequest } from '../../types/hub/hooks.ts';
import type { BodySchema } from '../request/body.ts';
import {
  hubRoute,
  list,
  made,
  none,
  ok,
  param,
  type AcceptedTokens,
  type HubRequest,
  type ServedHubRoute,
} from './route.ts';

const HOOKS = '/repos/:owner/:repo/hooks';
export const HOOK = `${HOOKS}/:hook_id`;

export const READ_HOOKS: AcceptedTokens = {
  permissions: 'repository_hooks=read',
  scopes: ['admin:repo_hook', 'read:repo_hook', 'repo', 'write:repo_hook'],
};
export const WRITE_HOOKS: AcceptedTokens = {
  permissions: 'repository_hooks=write',
  scopes: ['admin:repo_hook', 'repo', 'write:repo_hook'],
};
const REMOVE_HOOKS: AcceptedTokens = {
  permissions: 'repository_hooks=write',
  scopes: ['admin:repo_hook', 'repo'],
};

const CONFIG = {
  url: { type: 'string' },
  content_type: { type: 'string', enum: ['json', 'form'] },
  secret: { type: 'string', secret: true },
  insecure_ssl: { type: ['string', 'number'], enum: ['0', '1', 0, 1] },
} as const;

const EVENTS = { type: 'array', items: { type: 'string' }, maxItems: 100 } as const;

const COMMON = {
  config: { type: 'object', properties: CONFIG, additionalProperties: false, secret: true },
  events: EVENTS,
  active: { type: 'boolean' },
} as const;

const CREATE: BodySchema = {
  title: 'Hook',
  type: 'object',
  properties: { name: { type: 'string', enum: ['web'] }, ...COMMON },
  additionalProperties: false,
};

const EDIT: BodySchema = {
  title: 'Hook',
  type: 'object',
  // A name, which clients repeat from what they were answered, changes nothing: there is one.
  properties: { name: CREATE.properties['name'] ?? {}, ...COMMON, add_events: EVENTS, remove_events: EVENTS },
  additionalProperties: false,
};

const EDIT_CONFIG: BodySchema = {
  title: 'Hook',
  type: 'object',
  properties: CONFIG,
  additionalProperties: false,
};

/** The repository and the hook of a path. Throws not_found for an id that is none. */
export function hookOf(request: Pick<HubRequest<unknown>, 'params'>): [string, string, number] {
  const id = param(request, 'hook_id');
  if (!/^[1-9]\d{0,14}$/.test(id)) {
    throw notFound('Not Found');
  }
  return [param(request, 'owner'), param(request, 'repo'), Number(id)];
}

/** Webhooks of repositories (seed 001 endpoints 1 to 7, 11 and 12; GitHub: repos/webhooks). */
export const hookRoutes: readonly ServedHubRoute[] = [
  hubRoute({
    id: 'hook.list',
    method: 'GET',
    path: HOOKS,
    accepts: READ_HOOKS,
    handler: ({ session, ...request }) =>
      list(session.hooks.list(param(request, 'owner'), param(request, 'repo'))),
  }),
  hubRoute<HookCreateRequest>({
    id: 'hook.create',
    method: 'POST',
    path: HOOKS,
    accepts: WRITE_HOOKS,
    body: CREATE,
    handler: async ({ session, body, ...request }) =>
      made(await session.hooks.create(param(request, 'owner'), param(request, 'repo'), body)),
  }),
  hubRoute({
    id: 'hook.get',
    method: 'GET',
    path: HOOK,
    accepts: READ_HOOKS,
    handler: ({ session, ...request }) => ok(session.hooks.get(...hookOf(request))),
  }),
  hubRoute<HookEditRequest>({
    id: 'hook.edit',
    method: 'PATCH',
    path: HOOK,
    accepts: WRITE_HOOKS,
    body: EDIT,
    handler: async ({ session, body, ...request }) => ok(await session.hooks.edit(...hookOf(request), body)),
  }),
  hubRoute({
    id: 'hook.remove',
    method: 'DELETE',
    path: HOOK,
    accepts: REMOVE_HOOKS,
    handler: async ({ session, ...request }) => {
      await session.hooks.remove(...hookOf(request));
      return none();
    },
  }),
  hubRoute({
    id: 'hook.config',
    method: 'GET',
    path: `${HOOK}/config`,
    accepts: READ_HOOKS,
    handler: ({ session, ...request }) => ok(session.hooks.config(...hookOf(request))),
  }),
  hubRoute<HookConfigRequest>({
    id: 'hook.edit-config',
    method: 'PATCH',
    path: `${HOOK}/config`,
    accepts: WRITE_HOOKS,
    body: EDIT_CONFIG,
    handler: async ({ session, body, ...request }) =>
      ok(await session.hooks.editConfig(...hookOf(request), body)),
  }),
  hubRoute({
    id: 'hook.ping',
    method: 'POST',
    path: `${HOOK}/pings`,
    accepts: READ_HOOKS,
    handler: async ({ session, ...request }) => {
      await session.hooks.ping(...hookOf(request));
      return none();
    },
  }),
  testRoute('hook.test', `${HOOK}/tests`),
  // Its path of before (seed 001 section 4 rule 5).
  testRoute('hook.test-old', `${HOOK}/test`),
];

function testRoute(id: string, path: string): ServedHubRoute {
  return hubRoute({
    id,
    method: 'POST',
    path,
    accepts: READ_HOOKS,
    handler: async ({ session, ...request }) => {
      await session.hooks.test(...hookOf(request));
      return none();
    },
  });
}
