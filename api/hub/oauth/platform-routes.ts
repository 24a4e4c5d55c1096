import type { GrantRequest, OAuthApplicationRequest, ServiceTokenRequest } from '../../types/hub/oauth.ts';
import type { BodySchema } from '../request/body.ts';
import { hubRoute, none, ok, param, type HubRequest, type ServedHubRoute } from '../routes/route.ts';
import { listOf } from './lists.ts';

const SCOPES = { type: 'array', items: { type: 'string' }, maxItems: 100 } as const;

const APPLICATION: BodySchema = {
  title: 'OAuthApplication',
  type: 'object',
  properties: {
    name: { type: 'string' },
    domain: { type: 'string' },
    redirect_uri: { type: 'string' },
    avatar: { type: ['string', 'null'], secret: true },
    privacy_url: { type: ['string', 'null'] },
    terms_url: { type: ['string', 'null'] },
    scopes: { type: 'object', additionalProperties: SCOPES },
  },
  required: ['name', 'domain', 'redirect_uri'],
  additionalProperties: false,
};

const SERVICE_TOKEN: BodySchema = {
  title: 'ServiceToken',
  type: 'object',
  properties: {
    name: { type: 'string' },
    accesses: SCOPES,
    ttl: { type: ['integer', 'null'], minimum: 1 },
  },
  additionalProperties: false,
};

const APPLICATIONS = '/v1/organizations/:organization/oauth-applications';
const SERVICE_TOKENS = '/v1/organizations/:organization/service-tokens';

const organization = (request: Pick<HubRequest<unknown>, 'params'>): string => param(request, 'organization');
const id = (request: Pick<HubRequest<unknown>, 'params'>): string => param(request, 'id');
const token = (request: Pick<HubRequest<unknown>, 'params'>): string => param(request, 'token_id');

/** What the seed's platform has (seed 002 A; upstream: oauth-applications, service-tokens). */
export const platformRoutes: readonly ServedHubRoute[] = [
  hubRoute({
    id: 'oauth-application.list',
    method: 'GET',
    path: APPLICATIONS,
    handler: (request) => ok(listOf(request.session.oauth.applications.list(organization(request)), request)),
  }),
  hubRoute<OAuthApplicationRequest>({
    id: 'oauth-application.create',
    method: 'POST',
    path: APPLICATIONS,
    body: APPLICATION,
    handler: async (request) => ({
      kind: 'json',
      status: 201,
      body: await request.session.oauth.applications.create(organization(request), request.body),
    }),
  }),
  hubRoute({
    id: 'oauth-application.get',
    method: 'GET',
    path: `${APPLICATIONS}/:id`,
    handler: (request) => ok(request.session.oauth.applications.get(organization(request), id(request))),
  }),
  hubRoute({
    id: 'oauth-application.remove',
    method: 'DELETE',
    path: `${APPLICATIONS}/:id`,
    handler: async (request) => {
      await request.session.oauth.applications.remove(organization(request), id(request));
      return none();
    },
  }),
  hubRoute({
    id: 'oauth-application.renew-secret',
    method: 'POST',
    path: `${APPLICATIONS}/:id/secret`,
    handler: async (request) => ({
      kind: 'json',
      status: 201,
      isSecret: true,
      body: await request.session.oauth.applications.renewSecret(organization(request), id(request)),
    }),
  }),
  hubRoute<GrantRequest>({
    id: 'oauth-application.token',
    method: 'POST',
    path: `${APPLICATIONS}/:id/token`,
    parameters: 'anywhere',
    handler: async (request) => ({
      kind: 'json',
      status: 200,
      isSecret: true,
      body: await request.session.oauth.grants.exchange(
        organization(request),
        id(request),
        request.body,
        request.credentials,
      ),
    }),
  }),
  hubRoute({
    id: 'oauth-token.list',
    method: 'GET',
    path: `${APPLICATIONS}/:id/tokens`,
    handler: (request) =>
      ok(listOf(request.session.oauth.applications.tokens(organization(request), id(request)), request)),
  }),
  hubRoute({
    id: 'oauth-token.get',
    method: 'GET',
    path: `${APPLICATIONS}/:id/tokens/:token_id`,
    handler: (request) =>
      ok(request.session.oauth.applications.token(organization(request), id(request), token(request))),
  }),
  hubRoute({
    id: 'oauth-token.remove',
    method: 'DELETE',
    path: `${APPLICATIONS}/:id/tokens/:token_id`,
    handler: async (request) => {
      const { applications } = request.session.oauth;
      await applications.removeToken(organization(request), id(request), token(request));
      return none();
    },
  }),
  hubRoute({
    id: 'service-token.list',
    method: 'GET',
    path: SERVICE_TOKENS,
    handler: (request) =>
      ok(listOf(request.session.oauth.applications.serviceTokens(organization(request)), request)),
  }),
  hubRoute<ServiceTokenRequest>({
    id: 'service-token.create',
    method: 'POST',
    path: SERVICE_TOKENS,
    body: SERVICE_TOKEN,
    handler: async (request) => ({
      kind: 'json',
      status: 201,
      body: await request.session.oauth.applications.createServiceToken(organization(request), request.body),
    }),
  }),
  hubRoute({
    id: 'service-token.get',
    method: 'GET',
    path: `${SERVICE_TOKENS}/:id`,
    handler: (request) =>
      ok(request.session.oauth.applications.serviceToken(organization(request), id(request))),
  }),
  hubRoute({
    id: 'service-token.remove',
    method: 'DELETE',
    path: `${SERVICE_TOKENS}/:id`,
    handler: async (request) => {
      await request.session.oauth.applications.removeServiceToken(organization(request), id(request));
      return none();
    },
  }),
];
