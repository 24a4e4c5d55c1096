import { invalidArgument } from '../../base/errors.ts';
import type { Vertex } from '../graph/op.ts';

/** What an operation of a client stands on, in the order of its inputs. */
export type Inputs = readonly (Vertex | undefined)[];

/** -1 is an empty tree. Throws invalid_argument for what is no input. */
export function inputAt(inputs: Inputs, position: number): Vertex | undefined {
  if (position < -1 || position >= inputs.length) {
    throw invalidArgument(`input ${position} of an operation that has ${inputs.length}`);
  }
  return inputs[position];
}

/** The inputs of a vertex: the tree that it changes, then what it reads, each time it does. */
export class UsedInputs {
  readonly all: (Vertex | undefined)[];
  readonly #at: (input: number) => Vertex | undefined;

  /** `at`: an input of the client's operation. */
  constructor(at: (input: number) => Vertex | undefined, base: number) {
    this.#at = at;
    this.all = [at(base)];
  }

  vertexAt(input: number): Vertex | undefined {
    return this.#at(input);
  }

  isGiven(input: number): boolean {
    return this.#at(input) !== undefined;
  }

  /** The position in `all` of an input of the client's operation. */
  positionOf(input: number): number {
    return this.all.push(this.#at(input)) - 1;
  }
}
