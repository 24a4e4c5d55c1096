import type { Clock } from '../../base/clock.ts';
import { conflict, notFound } from '../../base/errors.ts';
import { refuseInvalid, type InvalidField } from '../../base/invalid-fields.ts';
import { limits } from '../../base/limits.ts';
import type { Account } from '../identity/account.ts';
import { nameKey } from '../identity/names.ts';
import { Collection } from '../records/collection.ts';
import { Counters } from '../records/counters.ts';
import type { Actor, Happening, Outbox } from '../occurrences/occurrence.ts';
import type { Mirror } from '../records/mirror.ts';
import type { RecordChange } from '../records/port.ts';
import { repositoryKey, repositoryNameProblem } from './names.ts';
import type { Repository } from './repository.ts';

export interface RepositoriesDeps {
  mirror: Mirror;
  clock: Clock;
  /** Of the owner, by name. Throws not_found. */
  owner(name: string): Account;
  /** A change that holds if the owner is still there. */
  ownerUnchanged(name: string): RecordChange;
  /** What goes with a repository, in the same update. */
  removals(repository: Repository): readonly RecordChange[];
  /** Told of each repository that is made, changed and removed. */
  outbox: Outbox;
}

export interface NewRepository {
  name: string;
  description?: string | null;
  isPrivate?: boolean;
}

export interface RepositoryEdit {
  description?: string | null;
  isPrivate?: boolean;
}

/** The repositories of all owners. Everything is answered from memory. */
export class Repositories {
  readonly #deps: RepositoriesDeps;
  readonly #repositories: Collection<Repository>;
  readonly #counters: Counters;

  constructor(deps: RepositoriesDeps) {
    this.#deps = deps;
    this.#repositories = new Collection(deps.mirror, 'repository/');
    this.#counters = new Counters(deps.mirror);
  }

  /** Whatever the case of the names, and with or without `.git`. */
  find(owner: string, name: string): Repository | undefined {
    return this.#repositories.get(repositoryKey(owner, name));
  }

  /** By id, oldest first. */
  all(): Repository[] {
    return this.#repositories.all().toSorted((one, other) => one.id - other.id);
  }

  byId(id: number): Repository | undefined {
    return this.#repositories.all().find((repository) => repository.id === id);
  }

  /** A change that holds if the repository is still as it is now; undefined = there is none. */
  unchanged(id: number): RecordChange | undefined {
    const found = this.byId(id);
    return found && this.#repositories.unchanged(repositoryKey(found.owner.name, found.name));
  }

  ofOwner(owner: Pick<Account, 'id'>): Repository[] {
    return this.all().filter((repository) => repository.owner.id === owner.id);
  }

  /** Throws not_found for the owner; InvalidFieldsError, also where the name is taken. */
  create(
    ownerName: string,
    { name, description = null, isPrivate = false }: NewRepository,
    actor: Actor,
  ): Promise<Repository> {
    return this.#deps.mirror.change(() => {
      const owner = this.#deps.owner(ownerName);
      refuseInvalid([
        repositoryNameProblem(name),
        descriptionProblem(description),
        this.find(owner.name, name) && taken(name),
      ]);
      const { id, change } = this.#counters.next('repository');
      const nowMs = this.#nowMs();
      const repository: Repository = {
        id,
        owner: { kind: owner.kind, name: owner.name, id: owner.id },
        name,
        description,
        isPrivate,
        createdMs: nowMs,
        updatedMs: nowMs,
      };
      return {
        changes: [
          change,
          this.#deps.ownerUnchanged(nameKey(owner.name)),
          this.#repositories.put(repositoryKey(owner.name, name), repository),
          ...this.#told(actor, { kind: 'repository', action: 'created', repository }),
        ],
        answer: repository,
      };
    });
  }

  /** Throws not_found, InvalidFieldsError; conflict when another one has its name now. */
  edit({ owner, name, id }: Repository, edit: RepositoryEdit, actor: Actor): Promise<Repository> {
    return this.#deps.mirror.change(() => {
      const current = this.#current(owner.name, name, id);
      const { description = current.description, isPrivate = current.isPrivate } = edit;
      refuseInvalid([descriptionProblem(description)]);
      const repository = { ...current, description, isPrivate, updatedMs: this.#nowMs() };
      return {
        changes: [
          this.#repositories.put(repositoryKey(owner.name, name), repository),
          ...actionsOf(current, repository).flatMap((action) =>
            this.#told(actor, { kind: 'repository', action, repository }),
          ),
        ],
        answer: repository,
      };
    });
  }

  /** Throws not_found. */
  remove({ owner, name, id }: Repository, actor: Actor): Promise<void> {
    return this.#deps.mirror.change(() => {
      const current = this.#current(owner.name, name, id);
      return {
        changes: [
          this.#repositories.delete(repositoryKey(owner.name, name)),
          ...this.#deps.removals(current),
          ...this.#told(actor, { kind: 'repository', action: 'deleted', repository: current }),
        ],
        answer: undefined,
      };
    });
  }

  /** A change that holds if it is still there, and as it is now. Throws not_found; conflict as `edit`. */
  stillThere({ owner, name, id }: Repository): RecordChange {
    this.#current(owner.name, name, id);
    return this.#repositories.unchanged(repositoryKey(owner.name, name));
  }

  #current(owner: string, name: string, id: number): Repository {
    const current = this.find(owner, name);
    if (current === undefined) {
      throw notFound(`no such repository: ${owner}/${name}`);
    }
    if (current.id !== id) {
      throw conflict(`${owner}/${name} is another repository now`);
    }
    return current;
  }

  #told(actor: Actor, happening: Happening): readonly RecordChange[] {
    return this.#deps.outbox.intents({ atMs: this.#nowMs(), actor, ...happening });
  }

  #nowMs(): number {
    return Number(this.#deps.clock.nowNano() / 1_000_000n);
  }
}

/** What an edit is in the words of GitHub's event `repository`. */
function actionsOf(
  before: Repository,
  after: Repository,
): readonly ('edited' | 'privatized' | 'publicized')[] {
  return [
    ...(before.description === after.description ? [] : ['edited' as const]),
    ...(before.isPrivate === after.isPrivate
      ? []
      : [after.isPrivate ? ('privatized' as const) : ('publicized' as const)]),
  ];
}

function taken(name: string): InvalidField {
  return {
    resource: 'Repository',
    field: 'name',
    code: 'already_exists',
    message: 'is the name of a repository of this owner already',
    value: name,
  };
}

function descriptionProblem(description: string | null): InvalidField | undefined {
  return (description ?? '').length <= limits.hubDescriptionMax
    ? undefined
    : {
        resource: 'Repository',
        field: 'description',
        code: 'invalid',
        message: `must have at most ${limits.hubDescriptionMax} characters`,
      };
}
