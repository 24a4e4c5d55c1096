import type {
  HubApp,
  HubAppsPort,
  HubInstallation,
  HubInstallationToken,
  InstallationTokenRequest,
} from '../../../api/types/hub/applications.ts';
import type { HubRepository } from '../../../api/types/hub/repository.ts';
import { EngineError } from '../../base/errors.ts';
import type { App, Installation } from '../identity/apps/app.ts';
import { selects } from '../identity/apps/installations.ts';
import type { Caller, InstallationCaller } from '../identity/caller.ts';
import type { Permissions } from '../identity/tokens/permissions.ts';
import type { Repository } from '../repositories/repository.ts';
import { appView, installationView } from '../views/application-view.ts';
import { repositoryView } from '../views/repository-view.ts';
import { timeText } from '../views/times.ts';
import { hidden } from './refusals.ts';
import type { SessionDeps } from './session-deps.ts';

/** What apps do as themselves. */
export class AppOperations implements HubAppsPort {
  readonly #deps: SessionDeps;
  readonly #caller: Caller;

  constructor(deps: SessionDeps, caller: Caller) {
    this.#deps = deps;
    this.#caller = caller;
  }

  me(): HubApp {
    return this.#appView(this.#app());
  }

  app(slug: string): HubApp {
    return this.#appView(this.#deps.apps.bySlug(slug));
  }

  installations(): HubInstallation[] {
    const app = this.#app();
    return this.#deps.installations.ofApp(app).map((each) => this.#view(each, app));
  }

  installation(id: number): HubInstallation {
    const app = this.#app();
    return this.#view(this.#own(app, id), app);
  }

  ofRepository(owner: string, name: string): HubInstallation {
    const app = this.#app();
    const repository = this.#deps.repositories.find(owner, name);
    const found = repository && this.#deps.installations.at(app, repository.owner);
    if (repository === undefined || found === undefined || !selects(found, repository)) {
      throw hidden();
    }
    return this.#view(found, app);
  }

  ofUser(name: string): HubInstallation {
    return this.#at(this.#app(), this.#deps.accounts.user(name));
  }

  ofOrganization(name: string): HubInstallation {
    return this.#at(this.#app(), this.#deps.accounts.organization(name));
  }

  async mintToken(id: number, request: InstallationTokenRequest): Promise<HubInstallationToken> {
    const app = this.#app();
    const { permissions, repositories, repository_ids: repositoryIds } = request;
    const { token, secret } = await this.#deps.installationTokens.mint(app, this.#own(app, id), {
      ...(permissions && { permissions }),
      ...(repositories && { repositories }),
      ...(repositoryIds && { repositoryIds }),
    });
    const { account } = this.#own(app, id);
    const selected = token.repositories === 'all' ? undefined : this.#selected(account, token.repositories);
    return {
      token: secret,
      expires_at: timeText(token.expiresMs ?? 0),
      permissions: token.permissions,
      repository_selection: token.repositories === 'all' ? 'all' : 'selected',
      ...(selected && { repositories: selected.map((each) => this.#repository(each, token.permissions)) }),
    };
  }

  async suspend(id: number, isSuspended: boolean): Promise<void> {
    await this.#deps.installations.suspend(this.#own(this.#app(), id).id, isSuspended);
  }

  async removeInstallation(id: number): Promise<void> {
    await this.#deps.installations.remove(this.#own(this.#app(), id).id);
  }

  repositories(): ReturnType<HubAppsPort['repositories']> {
    const { installation, token } = this.#installation(
      'You must authenticate with an installation access token in order to list repositories for an installation.',
    );
    const { account } = installation;
    const seen = this.#deps.repositories
      .ofOwner(account)
      .filter((each) => selects(installation, each))
      .filter((each) => selects({ account, repositories: token.repositories }, each));
    return {
      repository_selection: token.repositories === 'all' ? 'all' : 'selected',
      repositories: seen.map((each) => this.#repository(each, token.permissions)),
    };
  }

  async revokeToken(): Promise<void> {
    const { token } = this.#installation('You must authenticate with an installation access token.');
    await this.#deps.installationTokens.revoke(token);
  }

  ofMyUser(): HubInstallation[] {
    const caller = this.#caller;
    if (caller.kind !== 'user' || caller.token.kind !== 'app-user' || !('application' in caller)) {
      throw new EngineError(
        'forbidden',
        'You must authenticate with an access token authorized to a GitHub App in order to list installations',
      );
    }
    const app = this.#deps.apps.app(caller.token.application);
    const isMine = ({ account }: Installation): boolean =>
      account.kind === 'user'
        ? account.id === caller.user.id
        : this.#deps.accounts.roleIn(this.#deps.accounts.organization(account.name), caller.user) !==
          undefined;
    return app === undefined
      ? []
      : this.#deps.installations
          .ofApp(app)
          .filter(isMine)
          .map((each) => this.#view(each, app));
  }

  /** Throws unauthorized for whoever shows no JSON web token. */
  #app(): App {
    if (this.#caller.kind !== 'app') {
      throw new EngineError('unauthorized', 'A JSON web token could not be decoded');
    }
    return this.#caller.app;
  }

  #installation(refusal: string): InstallationCaller {
    if (this.#caller.kind !== 'installation') {
      throw new EngineError('forbidden', refusal);
    }
    return this.#caller;
  }

  #own(app: App, id: number): Installation {
    const found = this.#deps.installations.find(id);
    if (found?.app !== app.id) {
      throw hidden();
    }
    return found;
  }

  #at(app: App, account: { id: number }): HubInstallation {
    const found = this.#deps.installations.at(app, account);
    if (found === undefined) {
      throw hidden();
    }
    return this.#view(found, app);
  }

  #selected(account: { id: number }, ids: readonly number[]): Repository[] {
    return this.#deps.repositories.ofOwner(account).filter(({ id }) => ids.includes(id));
  }

  #repository(repository: Repository, permissions: Permissions): HubRepository {
    const may = {
      admin: permissions.administration === 'write',
      push: permissions.packages === 'write',
      pull: permissions.packages !== undefined || !repository.isPrivate,
    };
    return repositoryView(repository, may, this.#deps.addresses);
  }

  #appView(app: App): HubApp {
    return appView(app, this.#deps.installations.ofApp(app).length, this.#deps.addresses);
  }

  #view(installation: Installation, app: App): HubInstallation {
    return installationView(installation, app, this.#deps.addresses);
  }
}
