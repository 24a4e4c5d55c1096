import type {
  CreatedOAuthApplication,
  HubOAuthApplicationsPort,
  OAuthApplicationRequest,
  OAuthApplicationView,
  ServiceTokenRequest,
  TokenRecord,
} from '../../../../api/types/hub/oauth.ts';
import { EngineError } from '../../../base/errors.ts';
import type { Organization } from '../../identity/account.ts';
import { userOf, type Caller } from '../../identity/caller.ts';
import type { GrantToken } from '../../identity/tokens/token.ts';
import type { OAuthApplication } from '../../oauth/applications/application.ts';
import { grantTokenView, oauthApplicationView, serviceTokenView } from '../../views/oauth-view.ts';
import { hidden } from '../refusals.ts';
import type { SessionDeps } from '../session-deps.ts';
import { organizationFor } from './organization-access.ts';
import { namedResources } from './resources.ts';

/** OAuth applications and service tokens of organizations. */
export class OAuthApplicationOperations implements HubOAuthApplicationsPort {
  readonly #deps: SessionDeps;
  readonly #caller: Caller;

  constructor(deps: SessionDeps, caller: Caller) {
    this.#deps = deps;
    this.#caller = caller;
  }

  list(name: string): OAuthApplicationView[] {
    const organization = this.#organization(name, 'read_oauth_applications');
    return this.#deps.oauthApplications.ofOrganization(organization).map((one) => this.#view(one));
  }

  get(name: string, id: string): OAuthApplicationView {
    return this.#view(this.#application(name, id, 'read_oauth_applications'));
  }

  async create(name: string, request: OAuthApplicationRequest): Promise<CreatedOAuthApplication> {
    const organization = this.#organization(name, 'write_oauth_applications');
    const { avatar = null, privacy_url: privacyUrl = null, terms_url: termsUrl = null } = request;
    const { application, clientSecret } = await this.#deps.oauthApplications.create(organization.name, {
      name: request.name,
      domain: request.domain,
      redirectUri: request.redirect_uri,
      avatar,
      privacyUrl,
      termsUrl,
      scopes: request.scopes,
    });
    return { ...this.#view(application), client_secret: clientSecret };
  }

  async renewSecret(name: string, id: string): Promise<CreatedOAuthApplication> {
    const organization = this.#organization(name, 'write_oauth_applications');
    const { application, clientSecret } = await this.#deps.oauthApplications.renewSecret(organization, id);
    return { ...this.#view(application), client_secret: clientSecret };
  }

  async remove(name: string, id: string): Promise<void> {
    await this.#deps.oauthApplications.remove(this.#organization(name, 'delete_oauth_applications'), id);
  }

  tokens(name: string, id: string): TokenRecord[] {
    const application = this.#application(name, id, 'read_oauth_tokens');
    return this.#deps.authorizations
      .tokensOf(application)
      .map((token) => this.#tokenView(token, application));
  }

  token(name: string, id: string, tokenId: string): TokenRecord {
    const application = this.#application(name, id, 'read_oauth_tokens');
    return this.#tokenView(this.#token(application, tokenId), application);
  }

  /** With what else came of the authorization: the refresh token is worth nothing then. */
  async removeToken(name: string, id: string, tokenId: string): Promise<void> {
    const application = this.#application(name, id, 'delete_oauth_tokens');
    const { authorization } = this.#token(application, tokenId);
    await this.#deps.authorizations.end(authorization, (found) => found.application === application.id);
  }

  serviceTokens(name: string): TokenRecord[] {
    const organization = this.#organization(name, 'read_service_tokens');
    return this.#deps.serviceTokens
      .ofOrganization(organization)
      .map((token) => serviceTokenView(token, organization.createdMs));
  }

  serviceToken(name: string, id: string): TokenRecord {
    const organization = this.#organization(name, 'read_service_tokens');
    return serviceTokenView(this.#deps.serviceTokens.get(organization, id), organization.createdMs);
  }

  async createServiceToken(name: string, request: ServiceTokenRequest): Promise<TokenRecord> {
    const organization = this.#organization(name, 'write_service_tokens');
    const { name: tokenName = '', accesses = [], ttl: ttlS = null } = request;
    this.#refuseMore(accesses);
    const user = userOf(this.#caller);
    const maker = user === undefined ? null : { name: user.name, id: user.id };
    const asked = { name: tokenName, accesses, ttlS, maker };
    const { token, secret } = await this.#deps.serviceTokens.create(organization.name, asked);
    return { ...serviceTokenView(token, organization.createdMs), token: secret };
  }

  async removeServiceToken(name: string, id: string): Promise<void> {
    await this.#deps.serviceTokens.remove(this.#organization(name, 'delete_service_tokens'), id);
  }

  /** A service token makes none that may more than itself. */
  #refuseMore(accesses: readonly string[]): void {
    const caller = this.#caller;
    const more = caller.kind === 'service' && accesses.find((one) => !caller.token.accesses.includes(one));
    if (more !== undefined && more !== false) {
      throw new EngineError('forbidden', `A service token cannot give the access ${more}, which it has not.`);
    }
  }

  #organization(name: string, access: string): Organization {
    return organizationFor(this.#deps, this.#caller, name, access);
  }

  #application(name: string, id: string, access: string): OAuthApplication {
    return this.#deps.oauthApplications.get(this.#organization(name, access), id);
  }

  #token(application: OAuthApplication, tokenId: string): GrantToken {
    const found = this.#deps.authorizations.tokensOf(application).find((one) => one.publicId === tokenId);
    if (found === undefined) {
      throw hidden();
    }
    return found;
  }

  #view(application: OAuthApplication): OAuthApplicationView {
    const { authorizations, addresses } = this.#deps;
    return oauthApplicationView(application, authorizations.tokensOf(application).length, addresses);
  }

  #tokenView(token: GrantToken, application: OAuthApplication): TokenRecord {
    const { accounts, addresses } = this.#deps;
    const account = accounts.same(token.user.name, token.user.id);
    const user = account?.kind === 'user' ? account : undefined;
    return grantTokenView(token, application, namedResources(this.#deps, user, token.accesses), addresses);
  }
}
