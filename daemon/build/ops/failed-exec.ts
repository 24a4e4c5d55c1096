import { EngineError } from '../../base/errors.ts';
import type { ExecOp } from '../graph/op.ts';
import type { LeftCommand } from '../ports.ts';
import type { BuildTree } from '../snapshots/tree.ts';
import { release } from '../solver/ports.ts';
import { treeOf } from '../cache/records.ts';

/** What clients take from the error of a command. */
interface CommandError extends EngineError {
  readonly exitCode: unknown;
  readonly command: unknown;
}

/** A command that failed, with what it stood on and what it left. The last hold gives that back. */
export class FailedExec extends EngineError implements Disposable {
  readonly op: ExecOp;
  readonly exitCode: unknown;
  readonly command: unknown;
  readonly #inputs: readonly (BuildTree | undefined)[];
  readonly #left: LeftCommand;
  #root: Promise<BuildTree> | undefined;
  #holds = 1;

  constructor(
    error: CommandError,
    { op, inputs, left }: { op: ExecOp; inputs: readonly (BuildTree | undefined)[]; left: LeftCommand },
  ) {
    super(error.code, error.message, { cause: error, details: error.details });
    this.exitCode = error.exitCode;
    this.command = error.command;
    this.op = op;
    this.#inputs = inputs.map((input) => input?.hold());
    this.#left = left;
  }

  hold(): this {
    this.#holds += 1;
    return this;
  }

  /** What it stood on, by position. Held by this. */
  input(position: number): BuildTree | undefined {
    return this.#inputs[position];
  }

  /** What its root had become. Held by this. */
  root(signal: AbortSignal): Promise<BuildTree> {
    this.#root ??= this.#left.layers(signal).then((layers) => treeOf(layers));
    return this.#root;
  }

  [Symbol.dispose](): void {
    this.#holds -= 1;
    if (this.#holds === 0) {
      this.#left.remove();
      release(this.#inputs);
      // Where it failed there is nothing.
      void this.#root?.then((tree) => tree[Symbol.dispose]()).catch(() => undefined /* see above */);
    }
  }
}

export function isCommandError(error: unknown): error is CommandError {
  return error instanceof EngineError && 'exitCode' in error && 'command' in error;
}
