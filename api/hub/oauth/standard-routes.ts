import { notFound } from '../../../daemon/base/errors.ts';
import type { GrantRequest, HeadlessConsentRequest, RevokeRequest } from '../../types/hub/oauth.ts';
import type { BodySchema } from '../request/body.ts';
import { hubRoute, ok, param, type ServedHubRoute } from '../routes/route.ts';

const NAMES = { type: 'array', items: { type: 'string' }, maxItems: 1_000 } as const;

const CONSENT: BodySchema = {
  title: 'Authorization',
  type: 'object',
  properties: {
    login: { type: 'string' },
    client_id: { type: 'string' },
    redirect_uri: { type: 'string' },
    state: { type: 'string' },
    scope: { type: 'string' },
    code_challenge: { type: 'string' },
    code_challenge_method: { type: 'string' },
    organizations: NAMES,
    repositories: NAMES,
    tags: NAMES,
  },
  required: ['login', 'client_id'],
  additionalProperties: false,
};

/** OAuth 2 as ordinary libraries speak it (RFC 6749, 7009, 8414), and consent on a machine without pages. */
export const oauthRoutes: readonly ServedHubRoute[] = [
  hubRoute<GrantRequest>({
    id: 'oauth.token',
    method: 'POST',
    path: '/oauth/token',
    parameters: 'body',
    isOpen: true,
    isFree: true,
    handler: async ({ session, body, credentials }) => ({
      kind: 'json',
      status: 200,
      isSecret: true,
      body: await session.oauth.grants.grant(body, credentials),
    }),
  }),
  hubRoute<RevokeRequest>({
    id: 'oauth.revoke',
    method: 'POST',
    path: '/oauth/revoke',
    parameters: 'body',
    isOpen: true,
    isFree: true,
    handler: async ({ session, body, credentials }) => {
      await session.oauth.grants.revoke(body, credentials);
      return { kind: 'json', status: 200, isSecret: true, body: {} };
    },
  }),
  hubRoute({
    id: 'oauth.metadata',
    method: 'GET',
    path: '/.well-known/oauth-authorization-server',
    isOpen: true,
    isFree: true,
    handler: ({ baseUrl }) => ok(metadataOf(baseUrl)),
  }),
  hubRoute<HeadlessConsentRequest>({
    id: 'oauth.consent',
    method: 'POST',
    path: '/admin/authorizations',
    body: CONSENT,
    handler: async ({ session, body }) => ({
      kind: 'json',
      status: 201,
      body: await session.oauth.consent.decideFor(body),
    }),
  }),
  hubRoute({
    id: 'oauth-application.avatar',
    method: 'GET',
    path: '/avatars/oauth-applications/:id',
    isOpen: true,
    isFree: true,
    handler: ({ session, ...request }) => {
      const found = session.oauth.avatar(param(request, 'id'));
      if (found === undefined) {
        throw notFound('Not Found');
      }
      return { kind: 'bytes', ...found };
    },
  }),
];

/** RFC 8414. */
function metadataOf(baseUrl: string): object {
  return {
    issuer: baseUrl,
    authorization_endpoint: `${baseUrl}/oauth/authorize`,
    token_endpoint: `${baseUrl}/oauth/token`,
    revocation_endpoint: `${baseUrl}/oauth/revoke`,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
    revocation_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
    authorization_response_iss_parameter_supported: true,
  };
}
