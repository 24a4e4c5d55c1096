import type { HubAdmission, HubSession, LimitedHubRequest } from '../../../api/types/hub/ports.ts';
import type { HubRateStatus } from '../../../api/types/hub/rate.ts';
import type { RegistryResource } from '../../../api/types/hub/registry.ts';
import { scopesOf, type Caller } from '../identity/caller.ts';
import { AccountOperations } from './account-operations.ts';
import { AppOperations } from './app-operations.ts';
import { ApplicationOperations } from './application-operations.ts';
import { AsideOperations } from './aside-operations.ts';
import { AuditOperations } from './audit-operations.ts';
import { CollaboratorOperations } from './collaborator-operations.ts';
import { DeliveryOperations } from './delivery-operations.ts';
import { OAuthOperations } from './oauth/operations.ts';
import { HookOperations } from './hook-operations.ts';
import { NoteOperations } from './note-operations.ts';
import { RepositoryOperations } from './repository-operations.ts';
import type { SessionDeps } from './session-deps.ts';
import { TokenOperations } from './token-operations.ts';

/** The operations of one caller: each judges first and acts then. */
export class Session implements HubSession {
  readonly scopes: readonly string[] | undefined;
  readonly accounts: AccountOperations;
  readonly repositories: RepositoryOperations;
  readonly collaborators: CollaboratorOperations;
  readonly hooks: HookOperations;
  readonly deliveries: DeliveryOperations;
  readonly notes: NoteOperations;
  readonly tokens: TokenOperations;
  readonly applications: ApplicationOperations;
  readonly apps: AppOperations;
  readonly oauth: OAuthOperations;
  readonly aside: AsideOperations;
  readonly audit: AuditOperations;
  readonly #leftOut = new Set<number>();
  readonly #deps: SessionDeps;
  readonly #caller: Caller;

  constructor(deps: SessionDeps, caller: Caller) {
    this.scopes = scopesOf(caller);
    this.#deps = deps;
    this.#caller = caller;
    this.accounts = new AccountOperations(deps, caller);
    this.repositories = new RepositoryOperations(deps, caller, this.#leftOut);
    this.collaborators = new CollaboratorOperations(deps, caller);
    this.applications = new ApplicationOperations(deps, caller);
    this.apps = new AppOperations(deps, caller);
    this.oauth = new OAuthOperations(deps, caller);
    this.hooks = new HookOperations(deps, caller);
    this.deliveries = new DeliveryOperations(deps, caller);
    this.notes = new NoteOperations(deps, caller);
    this.tokens = new TokenOperations(deps, caller);
    this.aside = new AsideOperations(deps, caller);
    this.audit = new AuditOperations(deps, caller);
  }

  get organizationsLeftOut(): readonly number[] {
    return [...this.#leftOut].toSorted((one, other) => one - other);
  }

  admit(request: LimitedHubRequest): HubAdmission {
    return this.#deps.rates.admit(this.#caller, request);
  }

  rate(): HubRateStatus | undefined {
    return this.#deps.rates.status(this.#caller);
  }

  registryRates(): Partial<Record<RegistryResource, HubRateStatus>> {
    return this.#deps.registryLimits.statuses(this.#caller);
  }
}
