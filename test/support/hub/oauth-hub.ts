import type {
  CreatedOAuthApplication,
  OAuthApplicationRequest,
  TokenRecord,
} from '../../../api/types/hub/oauth.ts';
import type { HubParts } from './open-hub.ts';
import { servedHub } from './served-hub.ts';
import { ManualClock } from '../fakes/manual-clock.ts';

export const SEEDS_ACCESSES = ['read_oauth_applications', 'write_oauth_tokens', 'read_oauth_tokens'];
export const REDIRECT = 'http://ci.test/back';

/** A hub with an OAuth application of acme, and a service token of acme as the seed wants it (seed 002 A, step 0). */
export async function oauthHub(
  request: Partial<OAuthApplicationRequest> = {},
  clock = new ManualClock(BigInt(Date.now()) * 1_000_000n),
  parts: HubParts = {},
) {
  const hub = await servedHub({ anonymousPerHour: 0 }, clock, undefined, parts);
  const { applications, consent } = hub.root.oauth;
  const application: CreatedOAuthApplication = await applications.create('acme', {
    name: 'CI',
    domain: 'http://ci.test',
    redirect_uri: REDIRECT,
    ...request,
  });
  const service = await applications.createServiceToken('acme', { accesses: SEEDS_ACCESSES });
  const client = { client_id: application.client_id, client_secret: application.client_secret };
  const path = `/v1/organizations/acme/oauth-applications/${application.id}`;
  const authorization = pairOf(service);
  /** `parameters` go in the query, as the seed says. */
  const exchange = (parameters: Record<string, string>) => {
    const query = new URLSearchParams({ ...client, ...parameters }).toString();
    return hub.ask('POST', `${path}/token?${query}`, { headers: { Authorization: authorization } });
  };
  const codeFor = async (login: string, more: Record<string, unknown> = {}) => {
    const asked = {
      login,
      client_id: application.client_id,
      redirect_uri: application.redirect_uri,
      ...more,
    };
    const { redirect_to: to } = await consent.decideFor(asked);
    return new URL(to).searchParams.get('code') ?? '';
  };
  const tokenFor = async (login: string, more: Record<string, unknown> = {}): Promise<TokenRecord> => {
    const code = await codeFor(login, more);
    const answer = await exchange({
      grant_type: 'authorization_code',
      code,
      redirect_uri: application.redirect_uri,
    });
    // The hub's own answer.
    return answer.body as TokenRecord;
  };
  return { ...hub, clock, application, service, client, path, authorization, exchange, codeFor, tokenFor };
}

/** `ID:TOKEN` */
export function pairOf({ id, token = '' }: TokenRecord): string {
  return `${id}:${token}`;
}
