import type {
  CollaboratorPermission,
  CollaboratorRequest,
  HubCollaborator,
  HubCollaboratorsPort,
} from '../../../api/types/hub/collaborator.ts';
import { notFound } from '../../base/errors.ts';
import { refuseInvalid } from '../../base/invalid-fields.ts';
import type { User } from '../identity/account.ts';
import { userOf, type Caller } from '../identity/caller.ts';
import { nameKey } from '../identity/names.ts';
import type { Need, RepositoryRole } from '../repositories/access.ts';
import type { Repository } from '../repositories/repository.ts';
import { collaboratorView } from '../views/collaborator-view.ts';
import { NEEDS } from './needs.ts';
import type { SessionDeps } from './session-deps.ts';

const ROLES = { pull: 'read', push: 'write', admin: 'admin' } as const satisfies Record<
  string,
  RepositoryRole
>;

/** Who has a part in a repository. */
export class CollaboratorOperations implements HubCollaboratorsPort {
  readonly #deps: SessionDeps;
  readonly #caller: Caller;

  constructor(deps: SessionDeps, caller: Caller) {
    this.#deps = deps;
    this.#caller = caller;
  }

  list(owner: string, name: string): HubCollaborator[] {
    const repository = this.#granted(owner, name, NEEDS.seeCollaborators);
    return this.#deps.accounts.users().flatMap((user) => {
      const role = this.#deps.grants.roleOf(user, repository);
      return role === undefined ? [] : [collaboratorView(user, role, this.#deps.addresses)];
    });
  }

  check(owner: string, name: string, userName: string): void {
    const repository = this.#granted(owner, name, NEEDS.seeCollaborators);
    if (this.#deps.grants.roleOf(this.#user(userName), repository) === undefined) {
      throw notFound(`${userName} is no collaborator`);
    }
  }

  permission(owner: string, name: string, userName: string): CollaboratorPermission {
    const repository = this.#granted(owner, name, NEEDS.seeCollaborators);
    const user = this.#user(userName);
    const role = this.#deps.grants.roleOf(user, repository) ?? (repository.isPrivate ? undefined : 'read');
    return role === undefined
      ? { permission: 'none', role_name: '', user: null }
      : {
          permission: role,
          role_name: role,
          user: collaboratorView(user, role, this.#deps.addresses),
        };
  }

  async add(owner: string, name: string, userName: string, request: CollaboratorRequest): Promise<void> {
    const repository = this.#granted(owner, name, NEEDS.edit);
    const user = this.#user(userName);
    refuseInvalid([
      repository.owner.id === user.id
        ? {
            resource: 'Collaborator',
            field: 'username',
            code: 'invalid',
            message: 'must not be the owner',
            value: userName,
          }
        : undefined,
    ]);
    await this.#deps.collaborators.add(repository, user, ROLES[request.permission ?? 'push']);
  }

  async remove(owner: string, name: string, userName: string): Promise<void> {
    const repository = this.#granted(owner, name, this.#isSelf(userName) ? NEEDS.leave : NEEDS.edit);
    await this.#deps.collaborators.remove(repository, this.#user(userName));
  }

  #isSelf(name: string): boolean {
    const user = userOf(this.#caller);
    return user !== undefined && nameKey(user.name) === nameKey(name);
  }

  #user(name: string): User {
    return this.#deps.accounts.user(name);
  }

  #granted(owner: string, name: string, need: Need): Repository {
    return this.#deps.grants.granted(this.#caller, { owner, name }, need);
  }
}
