import type { User } from '../identity/account.ts';
import type { Accounts } from '../identity/accounts.ts';
import type { Caller } from '../identity/caller.ts';
import { covers, judge, type Need, type RepositoryRole } from '../repositories/access.ts';
import type { Collaborators } from '../repositories/collaborators.ts';
import type { Repositories } from '../repositories/repositories.ts';
import type { Repository } from '../repositories/repository.ts';
import { hidden, refusalOf } from './refusals.ts';

interface Deps {
  accounts: Accounts;
  repositories: Repositories;
  collaborators: Collaborators;
}

/** What callers get of repositories: gathers the facts and has `judge` decide. */
export class Grants {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** The repository of that name. Throws not_found, forbidden or unauthorized where the caller may not. */
  granted(caller: Caller, { owner, name }: { owner: string; name: string }, need: Need): Repository {
    const repository = this.#deps.repositories.find(owner, name);
    if (repository === undefined) {
      throw hidden();
    }
    const refusal = refusalOf(caller, this.#verdict(caller, need, repository), need);
    if (refusal !== undefined) {
      throw refusal;
    }
    return repository;
  }

  may(caller: Caller, need: Need, repository: Repository): boolean {
    return this.#verdict(caller, need, repository).kind === 'granted';
  }

  /** What a person may do with a repository, whatever its token; undefined = no more than everybody. */
  roleOf(user: User, repository: Repository): RepositoryRole | undefined {
    const given = this.#deps.collaborators.roleOf(repository, user);
    const own = this.#ownRole(user, repository);
    return own !== undefined && (given === undefined || covers(own, given)) ? own : given;
  }

  #verdict(caller: Caller, need: Need, repository: Repository) {
    const role = caller.kind === 'user' ? this.roleOf(caller.user, repository) : undefined;
    return judge(caller, need, { repository, role });
  }

  /** As the owner, or as a member of the organization that owns it. */
  #ownRole(user: User, { owner }: Repository): RepositoryRole | undefined {
    if (owner.kind === 'user') {
      return owner.id === user.id ? 'admin' : undefined;
    }
    const organization = this.#deps.accounts.same(owner.name, owner.id);
    const role =
      organization?.kind === 'organization' ? this.#deps.accounts.roleIn(organization, user) : undefined;
    return role === 'member' ? 'read' : role;
  }
}
