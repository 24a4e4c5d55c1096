import { unreachable } from '../../base/errors.ts';
import type { Organization, User } from '../identity/account.ts';
import type { Accounts } from '../identity/accounts.ts';
import { selects, type Installations } from '../identity/apps/installations.ts';
import { userOf, type Caller, type UserCaller } from '../identity/caller.ts';
import type { SignOnLinks } from '../identity/sso/sign-on-links.ts';
import { covers as grantsCover, tagsWith } from '../oauth/scopes/access.ts';
import { accessFacts, RIGHTS, type Right } from '../oauth/scopes/names.ts';
import type { Permissions } from '../identity/tokens/permissions.ts';
import { covers, judge, type Need, type RepositoryRole, type Verdict } from '../repositories/access.ts';
import type { Collaborators } from '../repositories/collaborators.ts';
import type { Repositories } from '../repositories/repositories.ts';
import type { Repository } from '../repositories/repository.ts';
import { hidden, refusalOf, signOnFirst } from './refusals.ts';

interface Deps {
  accounts: Accounts;
  repositories: Repositories;
  collaborators: Collaborators;
  installations: Installations;
  links: SignOnLinks;
}

/** What of a repository a caller wants something with: all of it, or some tags at least. */
export type Reach = 'all' | 'some-tags';

/** What callers get of repositories: gathers the facts and has `judge` decide. */
export class Grants {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** The repository of that name. Throws not_found, forbidden or unauthorized where the caller may not. */
  granted(
    caller: Caller,
    { owner, name }: { owner: string; name: string },
    need: Need,
    reach: Reach = 'all',
  ): Repository {
    const repository = this.#deps.repositories.find(owner, name);
    if (repository === undefined) {
      throw hidden();
    }
    const verdict = this.verdict(caller, need, repository, reach);
    const refusal = refusalOf(caller, verdict, need);
    if (refusal === undefined) {
      return repository;
    }
    this.requireSignOn(caller, this.#organizationOf(repository), verdict);
    throw refusal;
  }

  may(caller: Caller, need: Need, repository: Repository, reach: Reach = 'all'): boolean {
    return this.verdict(caller, need, repository, reach).kind === 'granted';
  }

  verdict(caller: Caller, need: Need, repository: Repository, reach: Reach = 'all'): Verdict {
    const permissions = this.#permissionsOf(caller, repository);
    const user = userOf(caller);
    // Nobody is behind an app or a task: where it is for a repository, its permissions decide alone.
    const rights = rightsOf(caller, repository, reach);
    const isFor = permissions !== undefined || (caller.kind === 'service' && rights.size > 0);
    const role = user === undefined ? (isFor ? 'admin' : undefined) : this.roleOf(user, repository);
    const lacksSignOn = this.lacksSignOn(caller, this.#organizationOf(repository));
    return judge(caller, need, { repository, role, permissions, rights, lacksSignOn });
  }

  /** Whether a classic token must be authorized for an organization first. Those of applications are by being made. */
  lacksSignOn(caller: Caller, organization: Organization | undefined): boolean {
    return (
      organization?.hasSingleSignOn === true &&
      caller.kind === 'user' &&
      caller.token.kind === 'classic' &&
      caller.token.authorized?.includes(organization.id) !== true
    );
  }

  /** Throws forbidden with the address of the page that authorizes the token, where that is what is lacking. */
  requireSignOn(
    caller: Caller,
    organization: Organization | undefined,
    verdict: Verdict = { kind: 'refused', lacking: 'sign-on' },
  ): void {
    const isLacking = verdict.kind === 'refused' && verdict.lacking === 'sign-on';
    if (
      isLacking &&
      organization !== undefined &&
      caller.kind === 'user' &&
      this.lacksSignOn(caller, organization)
    ) {
      const request = { token: caller.token.id, organization: organization.id };
      throw signOnFirst(this.#deps.links.addressOf(request, organization.name));
    }
  }

  /** What a person may do with a repository, whatever its token; undefined = no more than everybody. */
  roleOf(user: User, repository: Repository): RepositoryRole | undefined {
    const given = this.#deps.collaborators.roleOf(repository, user);
    const own = this.#ownRole(user, repository);
    return own !== undefined && (given === undefined || covers(own, given)) ? own : given;
  }

  /** What credentials with permissions may with a repository; undefined = they are not for it, or have none. */
  #permissionsOf(caller: Caller, repository: Repository): Permissions | undefined {
    switch (caller.kind) {
      case 'installation': {
        const { installation, token } = caller;
        const isFor =
          selects(installation, repository) &&
          selects({ account: installation.account, repositories: token.repositories }, repository);
        return isFor ? token.permissions : undefined;
      }
      case 'workflow':
        return caller.token.repository === repository.id ? caller.token.permissions : undefined;
      case 'user':
        return this.#permissionsOfUser(caller, repository);
      case 'root':
      case 'anonymous':
      case 'page':
      case 'app':
      case 'client':
      case 'delegate':
      case 'service':
        return undefined;
      default:
        return unreachable(caller);
    }
  }

  #permissionsOfUser(caller: UserCaller, repository: Repository): Permissions | undefined {
    const { token } = caller;
    if (token.kind === 'fine-grained') {
      const { resourceOwner: account, repositories } = token;
      return selects({ account, repositories }, repository) ? token.permissions : undefined;
    }
    if (token.kind !== 'app-user' || !('application' in caller) || caller.application.kind !== 'app') {
      return undefined;
    }
    const installation = this.#deps.installations.at(caller.application, repository.owner);
    const isFor =
      installation !== undefined && installation.suspendedMs === null && selects(installation, repository);
    return isFor ? caller.application.permissions : undefined;
  }

  #organizationOf({ owner }: Repository): Organization | undefined {
    const account =
      owner.kind === 'organization' ? this.#deps.accounts.same(owner.name, owner.id) : undefined;
    return account?.kind === 'organization' ? account : undefined;
  }

  /** As the owner, or as a member of the organization that owns it. */
  #ownRole(user: User, repository: Repository): RepositoryRole | undefined {
    const { owner } = repository;
    if (owner.kind === 'user') {
      return owner.id === user.id ? 'admin' : undefined;
    }
    const organization = this.#organizationOf(repository);
    const role = organization && this.#deps.accounts.roleIn(organization, user);
    return role === 'member' ? 'read' : role;
  }
}

/** What was granted for a repository. Whoever was granted one tag sees that the repository is there. */
function rightsOf(caller: Caller, repository: Repository, reach: Reach): ReadonlySet<Right> {
  const { id, owner } = repository;
  switch (caller.kind) {
    case 'delegate': {
      const { accesses } = caller.token;
      const place = { kind: 'repository', owner: owner.id, repository: id } as const;
      return new Set(
        RIGHTS.filter(
          (right) =>
            grantsCover(accesses, right, place) ||
            ((reach === 'some-tags' || right === 'see') && tagsWith(accesses, right, id).length > 0),
        ),
      );
    }
    case 'service': {
      const isFor = owner.kind === 'organization' && owner.id === caller.organization.id;
      return new Set(isFor ? caller.token.accesses.flatMap((name) => accessFacts(name)?.rights ?? []) : []);
    }
    case 'root':
    case 'anonymous':
    case 'user':
    case 'page':
    case 'installation':
    case 'app':
    case 'client':
    case 'workflow':
      return NONE;
    default:
      return unreachable(caller);
  }
}

const NONE: ReadonlySet<Right> = new Set();
