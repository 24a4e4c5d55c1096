import type { HubAdmission, HubSession, LimitedHubRequest } from '../../../api/types/hub/ports.ts';
import type { HubRateStatus } from '../../../api/types/hub/rate.ts';
import type { Caller } from '../identity/caller.ts';
import { AccountOperations } from './account-operations.ts';
import { CollaboratorOperations } from './collaborator-operations.ts';
import { RepositoryOperations } from './repository-operations.ts';
import type { SessionDeps } from './session-deps.ts';
import { TokenOperations } from './token-operations.ts';

/** The operations of one caller: each judges first and acts then. */
export class Session implements HubSession {
  readonly scopes: readonly string[] | undefined;
  readonly accounts: AccountOperations;
  readonly repositories: RepositoryOperations;
  readonly collaborators: CollaboratorOperations;
  readonly tokens: TokenOperations;
  readonly #deps: SessionDeps;
  readonly #caller: Caller;

  constructor(deps: SessionDeps, caller: Caller) {
    this.scopes = caller.kind === 'user' && caller.token.kind === 'classic' ? caller.token.scopes : undefined;
    this.#deps = deps;
    this.#caller = caller;
    this.accounts = new AccountOperations(deps, caller);
    this.repositories = new RepositoryOperations(deps, caller);
    this.collaborators = new CollaboratorOperations(deps, caller);
    this.tokens = new TokenOperations(deps, caller);
  }

  admit(request: LimitedHubRequest): HubAdmission {
    return this.#deps.rates.admit(this.#caller, request);
  }

  rate(): HubRateStatus | undefined {
    return this.#deps.rates.status(this.#caller);
  }
}
