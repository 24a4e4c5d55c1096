import type { AppCreateRequest, OAuthAppCreateRequest } from '../../types/hub/applications.ts';
import type { BodySchema } from '../request/body.ts';
import { hubRoute, idParam, list, made, none, ok, param, type ServedHubRoute } from './route.ts';

const ACCESS_TOKEN: BodySchema = {
  title: 'Token',
  type: 'object',
  properties: { access_token: { type: 'string', minLength: 1, secret: true } },
  required: ['access_token'],
  additionalProperties: false,
};

const COMMON = {
  name: { type: 'string' },
  owner: { type: 'string' },
  description: { type: ['string', 'null'] },
  url: { type: ['string', 'null'] },
} as const;

const APP: BodySchema = {
  title: 'App',
  type: 'object',
  properties: {
    ...COMMON,
    permissions: { type: 'object', additionalProperties: { type: 'string' } },
    events: { type: 'array', items: { type: 'string' }, maxItems: 100 },
  },
  required: ['name', 'owner'],
  additionalProperties: false,
};

const OAUTH_APP: BodySchema = {
  title: 'OAuthApp',
  type: 'object',
  properties: { ...COMMON, callback_url: { type: ['string', 'null'] } },
  required: ['name', 'owner'],
  additionalProperties: false,
};

const INSTALLATION: BodySchema = {
  title: 'Installation',
  type: 'object',
  properties: {
    account: { type: 'string' },
    repositories: { type: 'array', items: { type: 'string' }, maxItems: 500 },
  },
  required: ['account'],
  additionalProperties: false,
};

const MINT: BodySchema = {
  title: 'Token',
  type: 'object',
  properties: { login: { type: 'string' }, scopes: { type: 'array', items: { type: 'string' } } },
  required: ['login'],
  additionalProperties: false,
};

interface AccessToken {
  access_token: string;
}

const TOKEN = '/applications/:client_id/token';

/** Applications' tokens for users (GitHub: apps/oauth-applications), and what root does with applications. */
export const applicationRoutes: readonly ServedHubRoute[] = [
  hubRoute<AccessToken>({
    id: 'application.check-token',
    method: 'POST',
    path: TOKEN,
    body: ACCESS_TOKEN,
    handler: ({ session, body, ...request }) =>
      ok(session.applications.check(param(request, 'client_id'), body.access_token)),
  }),
  hubRoute<AccessToken>({
    id: 'application.reset-token',
    method: 'PATCH',
    path: TOKEN,
    body: ACCESS_TOKEN,
    handler: async ({ session, body, ...request }) =>
      ok(await session.applications.reset(param(request, 'client_id'), body.access_token)),
  }),
  hubRoute<AccessToken>({
    id: 'application.revoke-token',
    method: 'DELETE',
    path: TOKEN,
    body: ACCESS_TOKEN,
    handler: async ({ session, body, ...request }) => {
      await session.applications.revoke(param(request, 'client_id'), body.access_token);
      return none();
    },
  }),
  hubRoute<AccessToken>({
    id: 'application.revoke-grant',
    method: 'DELETE',
    path: '/applications/:client_id/grant',
    body: ACCESS_TOKEN,
    handler: async ({ session, body, ...request }) => {
      await session.applications.revokeGrant(param(request, 'client_id'), body.access_token);
      return none();
    },
  }),
  hubRoute<AppCreateRequest>({
    id: 'app.create',
    method: 'POST',
    path: '/admin/apps',
    body: APP,
    handler: async ({ session, body }) => made(await session.applications.createApp(body)),
  }),
  hubRoute({
    id: 'app.list',
    method: 'GET',
    path: '/admin/apps',
    handler: ({ session }) => list(session.applications.apps()),
  }),
  hubRoute({
    id: 'app.remove',
    method: 'DELETE',
    path: '/admin/apps/:app_slug',
    handler: async ({ session, ...request }) => {
      await session.applications.removeApp(param(request, 'app_slug'));
      return none();
    },
  }),
  hubRoute({
    id: 'app.add-key',
    method: 'POST',
    path: '/admin/apps/:app_slug/keys',
    handler: async ({ session, ...request }) =>
      made(await session.applications.addKey(param(request, 'app_slug'))),
  }),
  hubRoute({
    id: 'app.remove-key',
    method: 'DELETE',
    path: '/admin/apps/:app_slug/keys/:key_id',
    handler: async ({ session, ...request }) => {
      await session.applications.removeKey(param(request, 'app_slug'), idParam(request, 'key_id'));
      return none();
    },
  }),
  hubRoute<{ account: string; repositories?: readonly string[] }>({
    id: 'installation.create',
    method: 'POST',
    path: '/admin/apps/:app_slug/installations',
    body: INSTALLATION,
    handler: async ({ session, body: { account, repositories }, ...request }) =>
      made(await session.applications.install(param(request, 'app_slug'), account, repositories)),
  }),
  hubRoute({
    id: 'installation.all',
    method: 'GET',
    path: '/admin/installations',
    handler: ({ session }) => list(session.applications.installations()),
  }),
  hubRoute({
    id: 'installation.uninstall',
    method: 'DELETE',
    path: '/admin/installations/:installation_id',
    handler: async ({ session, ...request }) => {
      await session.applications.uninstall(idParam(request, 'installation_id'));
      return none();
    },
  }),
  hubRoute<OAuthAppCreateRequest>({
    id: 'oauth-app.create',
    method: 'POST',
    path: '/admin/oauth-apps',
    body: OAUTH_APP,
    handler: async ({ session, body }) => made(await session.applications.createOAuthApp(body)),
  }),
  hubRoute({
    id: 'oauth-app.list',
    method: 'GET',
    path: '/admin/oauth-apps',
    handler: ({ session }) => list(session.applications.oauthApps()),
  }),
  hubRoute({
    id: 'oauth-app.remove',
    method: 'DELETE',
    path: '/admin/oauth-apps/:client_id',
    handler: async ({ session, ...request }) => {
      await session.applications.removeOAuthApp(param(request, 'client_id'));
      return none();
    },
  }),
  hubRoute<{ login: string; scopes?: readonly string[] }>({
    id: 'application.mint-token',
    method: 'POST',
    path: '/admin/applications/:client_id/tokens',
    body: MINT,
    handler: async ({ session, body: { login, scopes = [] }, ...request }) =>
      made(await session.applications.mint(param(request, 'client_id'), login, scopes)),
  }),
];
