import type {
  AppCreateRequest,
  CreatedHubApp,
  CreatedHubOAuthApp,
  HubApp,
  HubAppKey,
  HubApplicationsPort,
  HubAuthorization,
  HubInstallation,
  HubOAuthApp,
  OAuthAppCreateRequest,
} from '../../../api/types/hub/applications.ts';
import { EngineError, notFound } from '../../base/errors.ts';
import type { App, Application, Installation } from '../identity/apps/app.ts';
import type { Caller } from '../identity/caller.ts';
import type { DelegatedToken } from '../identity/tokens/token.ts';
import { appView, authorizationView, installationView, oauthAppView } from '../views/application-view.ts';
import { hidden, rootOnly } from './refusals.ts';
import type { SessionDeps } from './session-deps.ts';

/** Applications' tokens for their users, which the application asks for, and what root does with applications. */
export class ApplicationOperations implements HubApplicationsPort {
  readonly #deps: SessionDeps;
  readonly #caller: Caller;

  constructor(deps: SessionDeps, caller: Caller) {
    this.#deps = deps;
    this.#caller = caller;
  }

  check(clientId: string, secret: string): HubAuthorization {
    const { application, token } = this.#own(clientId, secret);
    return authorizationView({ token, secret }, application, this.#deps.addresses);
  }

  async reset(clientId: string, secret: string): Promise<HubAuthorization> {
    const { application, token } = this.#own(clientId, secret);
    const fresh = await this.#deps.delegatedTokens.reset(token);
    return authorizationView(fresh, application, this.#deps.addresses);
  }

  async revoke(clientId: string, secret: string): Promise<void> {
    await this.#deps.delegatedTokens.revoke(this.#own(clientId, secret).token);
  }

  async revokeGrant(clientId: string, secret: string): Promise<void> {
    const { application, token } = this.#own(clientId, secret);
    await this.#deps.delegatedTokens.revokeGrant(application, token.user);
  }

  async createApp(request: AppCreateRequest): Promise<CreatedHubApp> {
    rootOnly(this.#caller);
    const { name, owner, description = null, url = null, permissions = {}, events = [] } = request;
    const asked = { name, description, url, permissions, events };
    const { application, clientSecret, privateKey } = await this.#deps.apps.createApp(owner, asked);
    return {
      ...this.#appView(application),
      client_secret: clientSecret,
      webhook_secret: null,
      pem: privateKey,
    };
  }

  apps(): HubApp[] {
    rootOnly(this.#caller);
    return this.#deps.apps.apps().map((app) => this.#appView(app));
  }

  async removeApp(slug: string): Promise<void> {
    rootOnly(this.#caller);
    await this.#deps.apps.removeApp(slug);
  }

  async addKey(slug: string): Promise<HubAppKey> {
    rootOnly(this.#caller);
    const { key, privateKey } = await this.#deps.apps.addKey(slug);
    return { id: key.id, pem: privateKey };
  }

  async removeKey(slug: string, id: number): Promise<void> {
    rootOnly(this.#caller);
    await this.#deps.apps.removeKey(slug, id);
  }

  async install(slug: string, account: string, repositories?: readonly string[]): Promise<HubInstallation> {
    rootOnly(this.#caller);
    const installation = await this.#deps.installations.create(slug, account, repositories);
    return installationView(installation, this.#deps.apps.bySlug(slug), this.#deps.addresses);
  }

  installations(): HubInstallation[] {
    rootOnly(this.#caller);
    return this.#deps.installations.all().flatMap((installation) => {
      const app = this.#deps.apps.app(installation.app);
      return app === undefined ? [] : [this.#installationView(installation, app)];
    });
  }

  async uninstall(id: number): Promise<void> {
    rootOnly(this.#caller);
    await this.#deps.installations.remove(id);
  }

  async createOAuthApp(request: OAuthAppCreateRequest): Promise<CreatedHubOAuthApp> {
    rootOnly(this.#caller);
    const { name, owner, description = null, url = null, callback_url: callbackUrl = null } = request;
    const asked = { name, description, url, callbackUrl };
    const { application, clientSecret } = await this.#deps.apps.createOAuthApp(owner, asked);
    return { ...oauthAppView(application, this.#deps.addresses), client_secret: clientSecret };
  }

  oauthApps(): HubOAuthApp[] {
    rootOnly(this.#caller);
    return this.#deps.apps.oauthApps().map((each) => oauthAppView(each, this.#deps.addresses));
  }

  async removeOAuthApp(clientId: string): Promise<void> {
    rootOnly(this.#caller);
    await this.#deps.apps.removeOAuthApp(clientId);
  }

  async mint(clientId: string, user: string, scopes: readonly string[]): Promise<HubAuthorization> {
    rootOnly(this.#caller);
    const application = this.#deps.apps.byClientId(clientId);
    if (application === undefined) {
      throw notFound(`no such application: ${clientId}`);
    }
    const minted = await this.#deps.delegatedTokens.mint(application, user, scopes);
    return authorizationView(minted, application, this.#deps.addresses);
  }

  /** A token of the application that asks. What is another's is not found, as what is none. */
  #own(clientId: string, secret: string): { application: Application; token: DelegatedToken } {
    const caller = this.#caller;
    if (caller.kind !== 'client') {
      throw new EngineError('unauthorized', 'Requires authentication by client id and client secret', {
        details: { isBasic: true },
      });
    }
    const { application } = caller;
    const token = this.#deps.tokens.find(secret);
    const isOwn =
      application.clientId === clientId &&
      token !== undefined &&
      this.#deps.delegatedTokens.isOf(token, application) &&
      this.#deps.accounts.same(token.user.name, token.user.id) !== undefined;
    if (!isOwn) {
      throw hidden();
    }
    return { application, token };
  }

  #appView(app: App): HubApp {
    return appView(app, this.#deps.installations.ofApp(app).length, this.#deps.addresses);
  }

  #installationView(installation: Installation, app: App): HubInstallation {
    return installationView(installation, app, this.#deps.addresses);
  }
}
