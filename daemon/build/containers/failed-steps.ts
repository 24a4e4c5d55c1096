import type { FailedStep } from '../../base/build-error.ts';
import { invariant, notFound } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { shownOp } from '../attest/shown-op.ts';
import type { ExecOp } from '../graph/op.ts';
import { FailedExec } from '../ops/failed-exec.ts';
import type { BuildTree } from '../snapshots/tree.ts';

const REF = /^step:(\d+):(\d+|root)$/;

/** A name of `FailedSteps`, whether there is such a step or not. */
export function isOfFailedStep(reference: string): boolean {
  return REF.test(reference);
}

/** Commands of a build that failed, for its client to look into; the newest ones, until they are given back. */
export class FailedSteps implements Disposable {
  readonly #failed = new Map<number, FailedExec>();
  #count = 0;

  /** Holds what a step failed with, where that holds something. */
  add(error: unknown): void {
    if (!(error instanceof FailedExec) || [...this.#failed.values()].includes(error)) {
      return;
    }
    this.#failed.set(this.#count, error.hold());
    this.#count += 1;
    const [oldest] = this.#failed.keys();
    if (oldest !== undefined && this.#failed.size > limits.buildFailedStepsMax) {
      this.#failed.get(oldest)?.[Symbol.dispose]();
      this.#failed.delete(oldest);
    }
  }

  /** What a client is told of it; undefined = it is none that is held. */
  describe(error: unknown): FailedStep | undefined {
    const [number, found] = [...this.#failed].find(([, each]) => each === error) ?? [];
    if (number === undefined || found === undefined) {
      return undefined;
    }
    const { op } = found;
    const positions = mountedInputs(op);
    const at = (position: number): number => (found.input(position) === undefined ? -1 : position);
    const shown = shownOp(op, { at, count: positions.length });
    invariant(shown !== undefined, 'a command is shown');
    const names = positions.map((position) => (position === undefined ? '' : `step:${number}:${position}`));
    return { op: shown['Op'], inputs: names, mounts: names.with(0, `step:${number}:root`) };
  }

  /** By a name of `describe`; undefined = an empty tree. Held by this. Throws not_found. */
  async tree(ref: string, signal: AbortSignal): Promise<BuildTree | undefined> {
    const [, number = '', position = ''] = REF.exec(ref) ?? [];
    const found = this.#failed.get(Number(number));
    if (number === '' || found === undefined) {
      throw notFound(`no such reference: ${ref}`);
    }
    return position === 'root' ? await found.root(signal) : found.input(Number(position));
  }

  [Symbol.dispose](): void {
    this.#failed.forEach((failed) => failed[Symbol.dispose]());
    this.#failed.clear();
  }
}

/** Of each mount as it is shown, the root first: the position of the input that it is of. Pure. */
function mountedInputs({ mounts }: ExecOp): (number | undefined)[] {
  return [
    0,
    ...mounts.flatMap((mount) => {
      if (mount.type === 'secret' && mount.target === undefined) {
        return [];
      }
      return [mount.type === 'bind' || mount.type === 'cache' ? mount.from : undefined];
    }),
  ];
}
