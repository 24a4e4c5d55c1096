import type { Clock } from '../../../base/clock.ts';
import { conflict } from '../../../base/errors.ts';
import { failpoint } from '../../../base/failpoint.ts';
import { limits } from '../../../base/limits.ts';
import { Collection } from '../../records/collection.ts';
import { Counters } from '../../records/counters.ts';
import type { Mirror } from '../../records/mirror.ts';
import type { RecordChange } from '../../records/port.ts';
import type { InvalidField } from '../../../base/invalid-fields.ts';
import { readPermissions, type Permissions } from '../tokens/permissions.ts';
import { hashSecret, newSecret } from '../tokens/secret.ts';
import type { Token, WorkflowToken } from '../tokens/token.ts';

export interface WorkflowTokensDeps {
  mirror: Mirror;
  clock: Clock;
  repositoryId(owner: string, name: string): number | undefined;
  /** A change that holds if the repository is still as it is now. Throws not_found. */
  repositoryUnchanged(id: number): RecordChange;
}

/** Built-in tokens of tasks: made when a task begins, for one repository, and gone with the task. */
export class WorkflowTokens {
  readonly #deps: WorkflowTokensDeps;
  readonly #tokens: Collection<Token>;
  readonly #counters: Counters;

  constructor(deps: WorkflowTokensDeps) {
    this.#deps = deps;
    this.#tokens = new Collection(deps.mirror, 'token/');
    this.#counters = new Counters(deps.mirror);
  }

  /** What a request for a token comes to. `repository`: undefined = there is none of that name. */
  plan(
    owner: string,
    name: string,
    asked: Readonly<Record<string, string>>,
  ): { repository: number | undefined; permissions: Permissions; problems: InvalidField[] } {
    return { repository: this.#deps.repositoryId(owner, name), ...readPermissions(asked) };
  }

  /** Those that have tokens. */
  tasks(): string[] {
    const tasks = this.#tokens.all().flatMap((token) => (token.kind === 'workflow' ? [token.task] : []));
    return [...new Set(tasks)];
  }

  /** Answers the secret. Throws not_found for the repository, conflict for one token too many of the task. */
  async mint(repository: number, permissions: Permissions, task: string): Promise<string> {
    const secret = newSecret('workflow');
    const hash = hashSecret(secret);
    await this.#deps.mirror.change(() => {
      if (this.#ofTask(task).length >= limits.hubTokensOfTaskMax) {
        throw conflict(`task ${task} has ${limits.hubTokensOfTaskMax} tokens already`);
      }
      const { id, change } = this.#counters.next('token');
      const minted: WorkflowToken = {
        kind: 'workflow',
        id,
        hash,
        lastEight: secret.slice(-8),
        repository,
        permissions,
        task,
        createdMs: Number(this.#deps.clock.nowNano() / 1_000_000n),
        expiresMs: null,
        lastUsedMs: null,
      };
      failpoint('hub.workflow-token.mint');
      return {
        changes: [change, this.#deps.repositoryUnchanged(repository), this.#tokens.put(hash, minted)],
        answer: undefined,
      };
    });
    return secret;
  }

  /** All of a task, which has ended. Also of one that had none. */
  revoke(task: string): Promise<void> {
    return this.#deps.mirror.change(() => ({
      changes: this.#ofTask(task).map(({ hash }) => this.#tokens.delete(hash)),
      answer: undefined,
    }));
  }

  #ofTask(task: string): Token[] {
    return this.#tokens.all().filter((token) => token.kind === 'workflow' && token.task === task);
  }
}
