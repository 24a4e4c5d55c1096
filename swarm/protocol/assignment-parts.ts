import type { Assignments } from './session.ts';

/** Puts assignments together again that came in several messages. */
export class AssignmentParts {
  #parts: Assignments[] = [];

  /** The whole once its last part is here; undefined before. */
  take({ more, ...part }: Assignments): Assignments | undefined {
    this.#parts.push(part);
    if (more === true) {
      return undefined;
    }
    const parts = this.#parts;
    this.#parts = [];
    return {
      full: part.full,
      tasks: parts.flatMap(({ tasks }) => tasks),
      removedTasks: parts.flatMap(({ removedTasks }) => removedTasks),
      secrets: parts.flatMap(({ secrets }) => secrets),
      removedSecrets: parts.flatMap(({ removedSecrets }) => removedSecrets),
      configs: parts.flatMap(({ configs }) => configs),
      removedConfigs: parts.flatMap(({ removedConfigs }) => removedConfigs),
    };
  }
}
