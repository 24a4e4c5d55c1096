import type { Vertex } from '../graph/op.ts';

/**
 * What one build needs soon. A key by contents waits for what it reads, and those that stand on it wait with it: where
 * that must be made first, all else that they are made of is begun meanwhile. Where nothing need be made nothing is
 * begun: the keys may lead to what is there.
 */
export class ReadAhead {
  readonly #begin: (vertex: Vertex) => void;
  /** By a vertex: those whose keys are made of its own. */
  readonly #askers = new Map<Vertex, Set<Vertex>>();
  /** By a vertex: those whose keys are made of its files. */
  readonly #readers = new Map<Vertex, Set<Vertex>>();
  readonly #making = new Set<Vertex>();
  /** Their keys wait for what is made. */
  readonly #waiting = new Set<Vertex>();

  /** `begin` is called of what it was called of before, too, and while keys are asked for. */
  constructor(begin: (vertex: Vertex) => void) {
    this.#begin = begin;
  }

  /** The vertex asks for the keys of all its inputs. */
  asks(vertex: Vertex): void {
    for (const input of vertex.inputs) {
      if (input !== undefined) {
        added(this.#askers, input, vertex);
      }
    }
    if (this.#waitsAbove(vertex)) {
      this.#wait(vertex);
    }
  }

  /** The key of the vertex is made of files of this input, whatever key that has. */
  reads(vertex: Vertex, input: Vertex): void {
    added(this.#readers, input, vertex);
    if (this.#making.has(input)) {
      this.#wait(vertex);
    }
  }

  /** Nothing like it is there: it is made, with all that it stands on. Until `made`. */
  makes(vertex: Vertex): void {
    this.#making.add(vertex);
    this.#readers.get(vertex)?.forEach((reader) => this.#wait(reader));
  }

  /** Answers those whose keys have waited for it and are made of its own. */
  made(vertex: Vertex): Vertex[] {
    this.#making.delete(vertex);
    return [...(this.#askers.get(vertex) ?? [])].filter((asker) => this.#waiting.has(asker));
  }

  /** The key of the vertex is known. */
  known(vertex: Vertex): void {
    if (!this.#waiting.delete(vertex)) {
      return;
    }
    for (const asker of this.#askers.get(vertex) ?? []) {
      // Others hold it up still.
      if (this.#waitsAbove(asker)) {
        this.#begin(vertex);
      }
    }
  }

  #waitsAbove({ inputs }: Vertex): boolean {
    return inputs.some((input) => input !== undefined && this.#waiting.has(input));
  }

  #wait(vertex: Vertex): void {
    // By a list instead of calls within calls, as where keys are made.
    const open = [vertex];
    for (let top = open.pop(); top !== undefined; top = open.pop()) {
      if (!this.#waiting.has(top)) {
        this.#waiting.add(top);
        open.push(...(this.#askers.get(top) ?? []));
      }
      for (const input of top.inputs) {
        // One whose own key waits has its turn when that is known.
        if (input !== undefined && !this.#waiting.has(input)) {
          this.#begin(input);
        }
      }
    }
  }
}

function added(map: Map<Vertex, Set<Vertex>>, vertex: Vertex, other: Vertex): void {
  const known = map.get(vertex);
  if (known === undefined) {
    map.set(vertex, new Set([other]));
  } else {
    known.add(other);
  }
}
