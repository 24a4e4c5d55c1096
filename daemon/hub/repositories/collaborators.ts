import { EngineError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { User } from '../identity/account.ts';
import { Collection } from '../records/collection.ts';
import type { Mirror } from '../records/mirror.ts';
import type { RecordChange } from '../records/port.ts';
import type { RepositoryRole } from './access.ts';
import type { Collaborator } from './collaborator.ts';
import { repositoryKey } from './names.ts';
import type { Repository } from './repository.ts';

export interface CollaboratorsDeps {
  mirror: Mirror;
  /** A change that holds if the record of the user is still as it is now. */
  userUnchanged(user: User): RecordChange;
}

/** Who was given a part in which repository. There are no invitations: who is added may use it at once. */
export class Collaborators {
  readonly #deps: CollaboratorsDeps;
  readonly #collaborators: Collection<Collaborator>;
  readonly #repositories: Collection<Repository>;

  constructor(deps: CollaboratorsDeps) {
    this.#deps = deps;
    this.#collaborators = new Collection(deps.mirror, 'collaborator/');
    this.#repositories = new Collection(deps.mirror, 'repository/');
  }

  /** Undefined = was given nothing. */
  roleOf(repository: Repository, user: User): RepositoryRole | undefined {
    return this.#collaborators.get(keyOf(repository, user))?.role;
  }

  /** Ids of users with their roles. */
  of(repository: Repository): Collaborator[] {
    return this.#collaborators.below(`${repository.id}/`);
  }

  /** Adds a user, or changes the role. Throws resource_exhausted, conflict. */
  add(repository: Repository, user: User, role: RepositoryRole): Promise<void> {
    return this.#deps.mirror.change(() => {
      const isNew = this.roleOf(repository, user) === undefined;
      if (isNew && this.of(repository).length >= limits.hubCollaboratorsMax) {
        throw new EngineError(
          'resource_exhausted',
          `${repository.name} has ${limits.hubCollaboratorsMax} collaborators already: make a group of them`,
        );
      }
      return {
        changes: [
          this.#repositories.unchanged(repositoryKey(repository.owner.name, repository.name)),
          this.#deps.userUnchanged(user),
          this.#collaborators.put(keyOf(repository, user), {
            repository: repository.id,
            user: user.id,
            role,
          }),
        ],
        answer: undefined,
      };
    });
  }

  /** Also of who was none. */
  remove(repository: Repository, user: User): Promise<void> {
    return this.#deps.mirror.change(() => ({
      changes: [this.#collaborators.delete(keyOf(repository, user))],
      answer: undefined,
    }));
  }

  /** What goes with a repository. */
  removals(repository: Repository): RecordChange[] {
    return this.of(repository).map(({ user }) => this.#collaborators.delete(`${repository.id}/${user}`));
  }
}

function keyOf(repository: Repository, user: User): string {
  return `${repository.id}/${user.id}`;
}
