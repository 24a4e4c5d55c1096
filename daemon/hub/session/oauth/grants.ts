import type { HubCredentials } from '../../../../api/types/hub/credentials.ts';
import type {
  GrantRequest,
  HubOAuthGrantsPort,
  RevokeRequest,
  StandardToken,
  TokenRecord,
} from '../../../../api/types/hub/oauth.ts';
import { EngineError } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import type { Caller } from '../../identity/caller.ts';
import type { OAuthApplication } from '../../oauth/applications/application.ts';
import type { GivenToken } from '../../oauth/authorizations/authorizations.ts';
import { clientCredentialsOf } from '../../oauth/requests/client-credentials.ts';
import { oauthProblem } from '../../oauth/requests/problem.ts';
import { scopeText } from '../../oauth/scopes/requested.ts';
import { grantTokenView } from '../../views/oauth-view.ts';
import type { SessionDeps } from '../session-deps.ts';
import { organizationFor } from './organization-access.ts';
import { namedResources } from './resources.ts';

/** Tokens for codes and for refresh tokens. */
export class OAuthGrantOperations implements HubOAuthGrantsPort {
  readonly #deps: SessionDeps;
  readonly #caller: Caller;

  constructor(deps: SessionDeps, caller: Caller) {
    this.#deps = deps;
    this.#caller = caller;
  }

  async exchange(
    organizationName: string,
    id: string,
    request: GrantRequest,
    { address }: HubCredentials,
  ): Promise<TokenRecord> {
    const organization = organizationFor(this.#deps, this.#caller, organizationName, 'write_oauth_tokens');
    const expected = this.#deps.oauthApplications.get(organization, id);
    // The header is the service token's.
    const application = this.#client(request, { authorization: undefined, address });
    if (application.id !== expected.id) {
      throw oauthProblem('invalid_client', 'client_id is not that of this application');
    }
    const given = await this.#give(application, request);
    const { accounts, addresses } = this.#deps;
    const account = accounts.same(given.token.user.name, given.token.user.id);
    const user = account?.kind === 'user' ? account : undefined;
    const resources = namedResources(this.#deps, user, given.token.accesses);
    return {
      ...grantTokenView(given.token, application, resources, addresses),
      token: given.secret,
      plain_text_refresh_token: given.refreshToken,
    };
  }

  async grant(request: GrantRequest, credentials: HubCredentials): Promise<StandardToken> {
    const application = this.#client(request, credentials);
    const { token, secret, refreshToken } = await this.#give(application, request);
    return {
      access_token: secret,
      token_type: 'Bearer',
      expires_in: limits.hubGrantTokenMs / 1000,
      refresh_token: refreshToken,
      scope: scopeText(token.accesses),
    };
  }

  async revoke(request: RevokeRequest, credentials: HubCredentials): Promise<void> {
    const application = this.#client(request, credentials);
    const text = needed({ token: request.token }, 'token');
    // A hint only says where to look first (RFC 7009, 2.1): one look finds either kind here.
    await this.#deps.authorizations.revoke(application, text);
  }

  #give(application: OAuthApplication, request: GrantRequest): Promise<GivenToken> {
    const { authorizations } = this.#deps;
    switch (request.grant_type) {
      case 'authorization_code':
        return authorizations.exchange(application, {
          code: needed({ code: request.code }, 'code'),
          redirectUri: request.redirect_uri,
          verifier: request.code_verifier,
        });
      case 'refresh_token':
        return authorizations.refresh(application, {
          refreshToken: needed({ refresh_token: request.refresh_token }, 'refresh_token'),
          scope: request.scope,
        });
      case undefined:
        throw oauthProblem('invalid_request', 'grant_type is missing');
      default:
        throw oauthProblem(
          'unsupported_grant_type',
          'grant_type must be authorization_code or refresh_token',
        );
    }
  }

  /** The application that shows its id and secret. Wrong ones are counted. Throws invalid_client, forbidden. */
  #client(
    sent: { client_id?: string; client_secret?: string },
    { authorization, address }: HubCredentials,
  ): OAuthApplication {
    const shown = clientCredentialsOf(authorization, sent);
    if (shown === 'twice') {
      throw oauthProblem('invalid_request', 'the client shows itself in the header and in the body');
    }
    if (shown === undefined) {
      throw oauthProblem('invalid_client', 'client_id and client_secret are missing');
    }
    const { lockout, oauthApplications } = this.#deps;
    const keys = [`address ${address}`, `client ${shown.clientId.slice(0, limits.hubOAuthNameMax)}`];
    if (keys.some((key) => lockout.isLocked(key))) {
      throw new EngineError(
        'forbidden',
        'Maximum number of login attempts exceeded. Please try again later.',
      );
    }
    const application = oauthApplications.byClientSecret(shown.clientId, shown.secret);
    if (application === undefined) {
      keys.forEach((key) => lockout.failed(key));
      throw oauthProblem('invalid_client', 'client_id and client_secret are not of one application');
    }
    return application;
  }
}

function needed(sent: Readonly<Record<string, string | undefined>>, name: string): string {
  const value = sent[name];
  if (value === undefined || value === '') {
    throw oauthProblem('invalid_request', `${name} is missing`);
  }
  return value;
}
