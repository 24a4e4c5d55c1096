import type { Clock } from '../../base/clock.ts';
import { notFound } from '../../base/errors.ts';
import { refuseInvalid } from '../../base/invalid-fields.ts';
import type { Actor } from '../occurrences/occurrence.ts';
import { Collection } from '../records/collection.ts';
import { Counters } from '../records/counters.ts';
import type { Mirror } from '../records/mirror.ts';
import type { RecordChange } from '../records/port.ts';
import type { Repository } from '../repositories/repository.ts';
import { editedConfig, editedHook, NEW_CONFIG, type ConfigEdit, type HookEdit } from './hook-edits.ts';
import { hookProblems, type HostRefused } from './hook-problems.ts';
import { hookKey, type Hook } from './hook.ts';

export interface HooksDeps {
  mirror: Mirror;
  clock: Clock;
  isRefused: HostRefused;
  /** Changes that make a delivery of its own to a hook: `ping` of a new one, `meta` of one that goes. */
  told(news: HookNews): readonly RecordChange[];
  /** A change that holds if the repository is still there. */
  repositoryUnchanged(repository: Repository): RecordChange;
}

export interface HookNews {
  kind: 'ping' | 'hook-deleted';
  hook: Hook;
  repository: Repository;
  actor: Actor;
}

export interface NewHook {
  config: ConfigEdit;
  events?: readonly string[];
  isActive?: boolean;
}

/** The webhooks of all repositories. Everything is answered from memory. */
export class Hooks {
  readonly #deps: HooksDeps;
  readonly #hooks: Collection<Hook>;
  readonly #counters: Counters;

  constructor(deps: HooksDeps) {
    this.#deps = deps;
    this.#hooks = new Collection(deps.mirror, 'hook/');
    this.#counters = new Counters(deps.mirror);
  }

  /** By id, oldest first. */
  ofRepository({ id }: Pick<Repository, 'id'>): Hook[] {
    return this.#hooks.in(`${id}/`).toSorted((one, other) => one.id - other.id);
  }

  find(repository: number, id: number): Hook | undefined {
    return this.#hooks.get(hookKey(repository, id));
  }

  /** Throws not_found. */
  get(repository: Pick<Repository, 'id'>, id: number): Hook {
    const hook = this.find(repository.id, id);
    if (hook === undefined) {
      throw notFound('Not Found');
    }
    return hook;
  }

  /** A `ping` goes to it. Throws InvalidFieldsError. */
  create(
    repository: Repository,
    { config, events = ['push'], isActive = true }: NewHook,
    actor: Actor,
  ): Promise<Hook> {
    return this.#deps.mirror.change(() => {
      const { id, change } = this.#counters.next('hook');
      const nowMs = this.#nowMs();
      const hook: Hook = {
        id,
        repository: repository.id,
        isActive,
        events: [...new Set(events)],
        config: editedConfig(NEW_CONFIG, config),
        createdMs: nowMs,
        updatedMs: nowMs,
      };
      this.#check(hook);
      return {
        changes: [
          change,
          this.#deps.repositoryUnchanged(repository),
          this.#hooks.put(hookKey(repository.id, id), hook),
          ...this.#deps.told({ kind: 'ping', hook, repository, actor }),
        ],
        answer: hook,
      };
    });
  }

  /** Throws not_found, InvalidFieldsError. */
  edit(repository: Repository, id: number, edit: HookEdit): Promise<Hook> {
    return this.#change(repository, id, (hook) => editedHook(hook, edit));
  }

  /** Throws as `edit`. */
  editConfig(repository: Repository, id: number, edit: ConfigEdit): Promise<Hook> {
    return this.#change(repository, id, (hook) => ({ ...hook, config: editedConfig(hook.config, edit) }));
  }

  /** It gets no events any more, until somebody switches it on. Throws not_found. */
  switchOff(repository: number, id: number): Promise<Hook> {
    return this.#change({ id: repository }, id, (hook) => ({ ...hook, isActive: false }));
  }

  /** A last delivery, `meta`, goes to it. Throws not_found. */
  remove(repository: Repository, id: number, actor: Actor): Promise<void> {
    return this.#deps.mirror.change(() => {
      const hook = this.get(repository, id);
      return {
        changes: [
          this.#hooks.delete(hookKey(repository.id, id)),
          ...this.#deps.told({ kind: 'hook-deleted', hook, repository, actor }),
        ],
        answer: undefined,
      };
    });
  }

  /** All hooks of a repository go with it. */
  removals(repository: Repository): readonly RecordChange[] {
    return this.ofRepository(repository).map(({ id }) => this.#hooks.delete(hookKey(repository.id, id)));
  }

  #change(repository: Pick<Repository, 'id'>, id: number, edited: (hook: Hook) => Hook): Promise<Hook> {
    return this.#deps.mirror.change(() => {
      const hook = { ...edited(this.get(repository, id)), updatedMs: this.#nowMs() };
      this.#check(hook);
      return { changes: [this.#hooks.put(hookKey(repository.id, id), hook)], answer: hook };
    });
  }

  #check(hook: Hook): void {
    const others = this.ofRepository({ id: hook.repository }).filter(({ id }) => id !== hook.id);
    refuseInvalid(hookProblems(hook, others, this.#deps.isRefused));
  }

  #nowMs(): number {
    return Number(this.#deps.clock.nowNano() / 1_000_000n);
  }
}
