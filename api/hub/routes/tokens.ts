import { notFound } from '../../../daemon/base/errors.ts';
import type { TokenCreateRequest } from '../../types/hub/token.ts';
import type { BodySchema } from '../request/body.ts';
import { hubRoute, list, made, none, param, type HubRequest, type ServedHubRoute } from './route.ts';

const TOKEN: BodySchema = {
  title: 'Token',
  type: 'object',
  properties: {
    note: { type: 'string' },
    scopes: { type: 'array', items: { type: 'string' } },
    permissions: { type: 'object', additionalProperties: { type: 'string' } },
    resource_owner: { type: 'string' },
    repositories: { type: 'array', items: { type: 'string' } },
    expires_in: { type: ['integer', 'null'], minimum: 1 },
  },
  additionalProperties: false,
};

const AUTHORIZATION: BodySchema = {
  title: 'Token',
  type: 'object',
  properties: { organization: { type: 'string' } },
  required: ['organization'],
  additionalProperties: false,
};

/** Personal tokens, for root: GitHub makes them on its pages only. */
export const tokenRoutes: readonly ServedHubRoute[] = [
  hubRoute<TokenCreateRequest>({
    id: 'token.create',
    method: 'POST',
    path: '/admin/users/:username/tokens',
    body: TOKEN,
    handler: async ({ session, body, ...request }) =>
      made(await session.tokens.create(param(request, 'username'), body)),
  }),
  hubRoute({
    id: 'token.list',
    method: 'GET',
    path: '/admin/users/:username/tokens',
    handler: ({ session, ...request }) => list(session.tokens.list(param(request, 'username'))),
  }),
  hubRoute({
    id: 'token.revoke',
    method: 'DELETE',
    path: '/admin/users/:username/tokens/:token_id',
    handler: async ({ session, ...request }) => {
      await session.tokens.revoke(param(request, 'username'), tokenId(request));
      return none();
    },
  }),
  hubRoute<{ organization: string }>({
    id: 'token.authorize',
    method: 'POST',
    path: '/admin/users/:username/tokens/:token_id/authorizations',
    body: AUTHORIZATION,
    handler: async ({ session, body, ...request }) => {
      await session.tokens.authorize(param(request, 'username'), tokenId(request), body.organization);
      return none();
    },
  }),
];

function tokenId(request: Pick<HubRequest<unknown>, 'params'>): number {
  const id = param(request, 'token_id');
  if (!/^[1-9]\d{0,14}$/.test(id)) {
    throw notFound(`no such token: ${id}`);
  }
  return Number(id);
}
