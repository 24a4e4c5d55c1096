import { isEngineError } from '../../../base/errors.ts';
import { InvalidFieldsError } from '../../../base/invalid-fields.ts';
import type { Account } from '../../identity/account.ts';
import {
  scopesOf,
  type Caller,
  type DelegateCaller,
  type ServiceCaller,
  type UserCaller,
} from '../../identity/caller.ts';
import { hasPermission } from '../../identity/tokens/permissions.ts';
import { covers } from '../../oauth/scopes/access.ts';
import { accessFacts } from '../../oauth/scopes/names.ts';
import { hasScope } from '../../identity/tokens/scopes.ts';
import { readName } from '../../registry/names/name.ts';
import { refusal } from '../../registry/refusal.ts';
import type { AccessClaims } from '../../registry/tokens/access-tokens.ts';
import { hasAction, type RegistryAction, type ScopeAccess } from '../../registry/tokens/scopes.ts';
import type { Need } from '../../repositories/access.ts';
import type { Repository } from '../../repositories/repository.ts';
import { actorOf } from '../actor.ts';
import { NEEDS } from '../needs.ts';
import type { SessionDeps } from '../session-deps.ts';

const NEEDED = {
  pull: NEEDS.pull,
  push: NEEDS.push,
  delete: NEEDS.deletePackage,
} as const satisfies Record<RegistryAction, Need>;

type Deps = Pick<SessionDeps, 'accounts' | 'repositories' | 'grants'>;

/** What a caller may do in the registry: by itself, and as far as its access token grants it. */
export class RegistryAccess {
  readonly #deps: Deps;
  readonly #caller: Caller;
  readonly #claims: AccessClaims | undefined;

  /** `claims`: undefined = it showed no access token, but a token of the hub or nothing. */
  constructor(deps: Deps, caller: Caller, claims: AccessClaims | undefined) {
    this.#deps = deps;
    this.#caller = caller;
    this.#claims = claims;
  }

  /**
   * The repository of a name, for an action. Throws NAME_INVALID; UNAUTHORIZED with the scope that is needed; then
   * NAME_UNKNOWN for what the caller may not know of, DENIED.
   */
  enter(name: string, action: RegistryAction): Repository {
    const { owner, repository } = readName(name);
    this.#refuseUnasked(name, action);
    const found = this.#granted(name, { owner, name: repository }, action);
    this.#refuseUngranted(name, action);
    return found;
  }

  /** As `enter`, to push. A repository that is not there is made, private, where the caller may make it. */
  async enterToPush(name: string): Promise<Repository> {
    const { owner, repository } = readName(name);
    const { repositories } = this.#deps;
    const isNew = repositories.find(owner, repository) === undefined && this.#mayCreate(owner);
    if (!isNew) {
      return this.enter(name, 'push');
    }
    this.#refuseUnasked(name, 'push');
    this.#refuseUngranted(name, 'push');
    try {
      return await repositories.create(owner, { name: repository, isPrivate: true }, actorOf(this.#caller));
    } catch (error) {
      if (error instanceof InvalidFieldsError && repositories.find(owner, repository) !== undefined) {
        // Docker begins with several layers at a time: another one was faster.
        return this.enter(name, 'push');
      }
      throw error instanceof InvalidFieldsError
        ? refusal('NAME_INVALID', error.message, { detail: { name } })
        : error;
    }
  }

  may(repository: Repository, action: RegistryAction): boolean {
    return this.#deps.grants.may(this.#caller, NEEDED[action], repository, 'some-tags');
  }

  /** Whether a name may be looked into without more: nothing is told where not. */
  peek(name: string, action: RegistryAction): Repository | undefined {
    try {
      return this.enter(name, action);
    } catch (error) {
      if (isEngineError(error)) {
        return undefined;
      }
      throw error;
    }
  }

  /** Throws UNAUTHORIZED for who has not asked to see the catalogue. */
  enterCatalogue(): void {
    const scope = { type: 'registry', name: 'catalog', action: '*' };
    if (this.#claims !== undefined && !hasAction(this.#claims.access, scope)) {
      throw refusal('UNAUTHORIZED', 'authentication required', {
        scope: 'registry:catalog:*',
        tokenError: 'insufficient_scope',
      });
    }
  }

  /** What of the scopes that were asked for the caller gets. */
  narrow(asked: readonly ScopeAccess[]): ScopeAccess[] {
    return asked
      .map((one) => ({ ...one, actions: one.actions.filter((action) => this.#gets(one, action)) }))
      .filter(({ actions }) => actions.length > 0);
  }

  #gets({ type, name }: ScopeAccess, action: string): boolean {
    if (type === 'registry') {
      return name === 'catalog';
    }
    if (type !== 'repository' || !(action === 'pull' || action === 'push' || action === 'delete')) {
      return false;
    }
    const [owner = '', repository = '', ...rest] = name.split('/');
    const found = this.#deps.repositories.find(owner, repository);
    if (rest.length > 0) {
      return false;
    }
    return found === undefined ? action !== 'delete' && this.#mayCreate(owner) : this.may(found, action);
  }

  #granted(name: string, at: { owner: string; name: string }, action: RegistryAction): Repository {
    try {
      return this.#deps.grants.granted(this.#caller, at, NEEDED[action], 'some-tags');
    } catch (error) {
      if (!isEngineError(error)) {
        throw error;
      }
      if (this.#caller.kind === 'anonymous') {
        throw refusal('UNAUTHORIZED', 'authentication required', { scope: scopeOf(name, action) });
      }
      throw error.code === 'forbidden'
        ? refusal('DENIED', `requested access to the resource is denied: ${error.message}`, {
            detail: { name },
          })
        : refusal('NAME_UNKNOWN', 'repository name not known to registry', { detail: { name } });
    }
  }

  /** An access token that was not asked for this: its client asks for another one. */
  #refuseUnasked(name: string, action: RegistryAction): void {
    const scope = { type: 'repository', name, action };
    if (this.#claims !== undefined && !hasAction(this.#claims.asked, scope)) {
      throw insufficient(name, action);
    }
  }

  #refuseUngranted(name: string, action: RegistryAction): void {
    const scope = { type: 'repository', name, action };
    if (this.#claims !== undefined && !hasAction(this.#claims.access, scope)) {
      throw insufficient(name, action);
    }
  }

  /** In the caller's own account, or in an organization of which it is an admin, with a token for packages. */
  #mayCreate(ownerName: string): boolean {
    const owner = this.#deps.accounts.find(ownerName);
    const caller = this.#caller;
    if (owner !== undefined && (caller.kind === 'delegate' || caller.kind === 'service')) {
      return mayCreateByAccess(this.#deps, caller, owner);
    }
    if (owner === undefined || caller.kind !== 'user') {
      return owner !== undefined && caller.kind === 'root';
    }
    const organization = owner.kind === 'organization' ? owner : undefined;
    return (
      isAdmin(this.#deps, caller, owner) &&
      isForPackages(caller, owner) &&
      !this.#deps.grants.lacksSignOn(caller, organization)
    );
  }
}

/** Whoever may push to every repository of an owner may push to one that is not there yet. */
function mayCreateByAccess(deps: Deps, caller: DelegateCaller | ServiceCaller, owner: Account): boolean {
  if (caller.kind === 'service') {
    const rights = caller.token.accesses.flatMap((name) => accessFacts(name)?.rights ?? []);
    return caller.organization.id === owner.id && rights.includes('push');
  }
  return (
    isAdmin(deps, caller, owner) && covers(caller.token.accesses, 'push', { kind: 'owner', owner: owner.id })
  );
}

function isAdmin({ accounts }: Deps, { user }: UserCaller | DelegateCaller, owner: Account): boolean {
  return owner.kind === 'user' ? owner.id === user.id : accounts.roleIn(owner, user) === 'admin';
}

function isForPackages(caller: UserCaller, owner: Account): boolean {
  const [{ token }, scopes] = [caller, scopesOf(caller)];
  if (scopes !== undefined) {
    return NEEDS.push.scopes.some((scope) => hasScope(scopes, scope));
  }
  return (
    token.kind === 'fine-grained' &&
    token.resourceOwner.id === owner.id &&
    token.repositories === 'all' &&
    hasPermission(token.permissions, 'packages', 'write')
  );
}

function scopeOf(name: string, action: RegistryAction): string {
  return `repository:${name}:${action === 'push' ? 'pull,push' : action}`;
}

function insufficient(name: string, action: RegistryAction): Error {
  return refusal('UNAUTHORIZED', 'authentication required', {
    scope: scopeOf(name, action),
    tokenError: 'insufficient_scope',
  });
}
