import type { Logger } from './logger.ts';

/**
 * Undo steps of an action that acquires several things. Register each undo right after its step; `commit()` at the
 * end keeps everything. Leaving the scope without a commit undoes in reverse order.
 *
 *   await using rollback = new Rollback(log, { container: id });
 *   await mount(...);   rollback.defer('unmount', () => unmount(...));
 *   ...
 *   rollback.commit();
 *
 * Undo steps never see the request's AbortSignal: a client that hangs up must not leave a mount behind.
 */
export class Rollback implements AsyncDisposable {
  readonly #log: Logger;
  readonly #fields: Record<string, unknown>;
  #undos: { step: string; undo: () => void | Promise<void> }[] = [];

  constructor(log: Logger, fields: Record<string, unknown> = {}) {
    this.#log = log;
    this.#fields = fields;
  }

  /** Registers the undo of the step just taken. */
  defer(step: string, undo: () => void | Promise<void>): void {
    this.#undos.push({ step, undo });
  }

  /** Everything stays; nothing will be undone. */
  commit(): void {
    this.#undos = [];
  }

  /** Runs the undo steps, newest first. A failing step is logged and the others still run. */
  async [Symbol.asyncDispose](): Promise<void> {
    const undos = this.#undos.toReversed();
    this.#undos = [];
    for (const { step, undo } of undos) {
      try {
        await undo();
      } catch (error) {
        this.#log.error({ ...this.#fields, step, err: error }, 'rollback step left something behind');
      }
    }
  }
}
