import type { HubRepositoriesPort } from '../../../api/types/hub/ports.ts';
import type {
  HubRepository,
  RepositoryCreateRequest,
  RepositoryEditRequest,
} from '../../../api/types/hub/repository.ts';
import { EngineError } from '../../base/errors.ts';
import type { Account } from '../identity/account.ts';
import { scopesOf, type Caller } from '../identity/caller.ts';
import { hasPermission } from '../identity/tokens/permissions.ts';
import { hasScope } from '../identity/tokens/scopes.ts';
import { covers } from '../oauth/scopes/access.ts';
import type { Need } from '../repositories/access.ts';
import type { Repository } from '../repositories/repository.ts';
import { repositoryView } from '../views/repository-view.ts';
import { actorOf } from './actor.ts';
import { NEEDS } from './needs.ts';
import { hidden, lacksAccess, notAccessible, personOf, rootOnly } from './refusals.ts';
import type { SessionDeps } from './session-deps.ts';

/** Repositories, as far as the caller may see and change them. */
export class RepositoryOperations implements HubRepositoriesPort {
  readonly #deps: SessionDeps;
  readonly #caller: Caller;
  /** Ids of organizations. */
  readonly #leftOut: Set<number>;

  constructor(deps: SessionDeps, caller: Caller, leftOut: Set<number>) {
    this.#deps = deps;
    this.#caller = caller;
    this.#leftOut = leftOut;
  }

  get(owner: string, name: string): HubRepository {
    return this.#view(this.#granted(owner, name, NEEDS.see));
  }

  all(): HubRepository[] {
    return this.#seen(this.#deps.repositories.all());
  }

  mine(): HubRepository[] {
    const user = personOf(this.#caller);
    const mine = this.#deps.repositories
      .all()
      .filter((one) => this.#deps.grants.roleOf(user, one) !== undefined);
    return this.#seen(mine);
  }

  ofUser(name: string): HubRepository[] {
    return this.#seen(this.#deps.repositories.ofOwner(this.#deps.accounts.user(name)));
  }

  ofOrganization(name: string): HubRepository[] {
    return this.#seen(this.#deps.repositories.ofOwner(this.#deps.accounts.organization(name)));
  }

  async createMine(request: RepositoryCreateRequest): Promise<HubRepository> {
    const user = personOf(this.#caller);
    this.#refuseCreate(user, request);
    return this.#create(user.name, request);
  }

  async createIn(organization: string, request: RepositoryCreateRequest): Promise<HubRepository> {
    const owner = this.#deps.accounts.organization(organization);
    if (this.#caller.kind !== 'root') {
      const role = this.#deps.accounts.roleIn(owner, personOf(this.#caller));
      if (role === undefined) {
        throw hidden();
      }
      if (role !== 'admin') {
        throw new EngineError('forbidden', `You must be an admin of ${owner.name} to create a repository.`);
      }
    }
    this.#refuseCreate(owner, request);
    return this.#create(owner.name, request);
  }

  async createFor(owner: string, request: RepositoryCreateRequest): Promise<HubRepository> {
    rootOnly(this.#caller);
    return this.#create(owner, request);
  }

  async edit(owner: string, name: string, request: RepositoryEditRequest): Promise<HubRepository> {
    const repository = this.#granted(owner, name, NEEDS.edit);
    const { description, private: isPrivate } = request;
    const edited = await this.#deps.repositories.edit(
      repository,
      {
        ...(description !== undefined && { description }),
        ...(isPrivate !== undefined && { isPrivate }),
      },
      actorOf(this.#caller),
    );
    return this.#view(edited);
  }

  async remove(owner: string, name: string): Promise<void> {
    await this.#deps.repositories.remove(this.#granted(owner, name, NEEDS.remove), actorOf(this.#caller));
    this.#deps.registry.collector.soon();
  }

  async #create(owner: string, request: RepositoryCreateRequest): Promise<HubRepository> {
    const { name, description = null, private: isPrivate = false } = request;
    return this.#view(
      await this.#deps.repositories.create(owner, { name, description, isPrivate }, actorOf(this.#caller)),
    );
  }

  #granted(owner: string, name: string, need: Need): Repository {
    return this.#deps.grants.granted(this.#caller, { owner, name }, need);
  }

  #seen(repositories: readonly Repository[]): HubRepository[] {
    return repositories
      .filter((repository) => this.#isSeen(repository))
      .map((repository) => this.#view(repository));
  }

  /** Organizations whose repositories are left out for want of single sign-on are noted for a header. */
  #isSeen(repository: Repository): boolean {
    const verdict = this.#deps.grants.verdict(this.#caller, NEEDS.see, repository);
    if (verdict.kind === 'refused' && verdict.lacking === 'sign-on') {
      this.#leftOut.add(repository.owner.id);
    }
    return verdict.kind === 'granted';
  }

  #may(need: Need, repository: Repository): boolean {
    return this.#deps.grants.may(this.#caller, need, repository);
  }

  #view(repository: Repository): HubRepository {
    const permissions = {
      admin: this.#may(NEEDS.edit, repository),
      push: this.#may(NEEDS.push, repository),
      pull: this.#may(NEEDS.pull, repository),
    };
    return repositoryView(repository, permissions, this.#deps.addresses);
  }

  /** A token makes public repositories with `public_repo`, private ones with `repo`. */
  #refuseCreate(owner: Account, request: RepositoryCreateRequest): void {
    const caller = this.#caller;
    if (caller.kind === 'delegate') {
      if (!covers(caller.token.accesses, 'create', { kind: 'owner', owner: owner.id })) {
        throw lacksAccess('create');
      }
      return;
    }
    if (caller.kind !== 'user') {
      return;
    }
    const scopes = scopesOf(caller);
    const needed = request.private === true ? 'repo' : 'public_repo';
    if (scopes !== undefined && !hasScope(scopes, needed)) {
      throw new EngineError('forbidden', `This token needs the scope ${needed}.`, {
        details: { acceptedScopes: needed === 'repo' ? ['repo'] : ['public_repo', 'repo'] },
      });
    }
    const { token } = caller;
    const isForAll =
      token.kind === 'fine-grained' &&
      token.resourceOwner.id === owner.id &&
      token.repositories === 'all' &&
      hasPermission(token.permissions, 'administration', 'write');
    if (scopes === undefined && !isForAll) {
      throw new EngineError('forbidden', notAccessible(caller), {
        details: { acceptedPermissions: 'administration=write' },
      });
    }
    this.#deps.grants.requireSignOn(caller, owner.kind === 'organization' ? owner : undefined);
  }
}
