import { unreachable } from '../../base/errors.ts';
import type { OAuthApplications } from '../oauth/applications/applications.ts';
import type { User } from './account.ts';
import type { Accounts } from './accounts.ts';
import type { Apps } from './apps/apps.ts';
import type { Installations } from './apps/installations.ts';
import type { Caller, InstallationCaller } from './caller.ts';
import type { InstallationToken, Owner, Token } from './tokens/token.ts';

interface Deps {
  accounts: Accounts;
  apps: Apps;
  installations: Installations;
  oauthApplications: OAuthApplications;
  /** Whether there is such a repository. */
  hasRepository: (id: number) => boolean;
}

/** Who it is that has a token. */
export class Holders {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Undefined = what it was made for is gone: the user, the application, the installation, the repository. */
  callerOf(token: Token): Caller | undefined {
    const { apps, hasRepository } = this.#deps;
    switch (token.kind) {
      case 'classic':
      case 'fine-grained': {
        const user = this.#user(token.user);
        return user && { kind: 'user', user, token };
      }
      case 'oauth':
      case 'app-user': {
        const user = this.#user(token.user);
        const application =
          token.kind === 'oauth' ? apps.oauthApp(token.application) : apps.app(token.application);
        return user && application && { kind: 'user', user, token, application };
      }
      case 'installation':
        return this.#installed(token);
      case 'workflow':
        return hasRepository(token.repository) ? { kind: 'workflow', token } : undefined;
      case 'service': {
        const { name, id } = token.organization;
        const organization = this.#deps.accounts.same(name, id);
        return organization?.kind === 'organization' ? { kind: 'service', organization, token } : undefined;
      }
      case 'grant': {
        const user = this.#user(token.user);
        const application = this.#deps.oauthApplications.find(token.application);
        return user && application && { kind: 'delegate', user, token, application };
      }
      default:
        return unreachable(token);
    }
  }

  #installed(token: InstallationToken): InstallationCaller | undefined {
    const installation = this.#deps.installations.find(token.installation);
    const app = installation && this.#deps.apps.app(installation.app);
    return app === undefined || installation === undefined || installation.suspendedMs !== null
      ? undefined
      : { kind: 'installation', app, installation, token };
  }

  #user({ name, id }: Owner): User | undefined {
    const account = this.#deps.accounts.same(name, id);
    return account?.kind === 'user' ? account : undefined;
  }
}
