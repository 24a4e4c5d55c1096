import { decodePart, encodePart } from '../../swarm/objects/codec.ts';
import { put, type PartName, type Parts, type Write } from '../../swarm/objects/parts.ts';

interface Stored {
  write: Write;
  revision: number;
}

export function keyOf(write: { part: PartName; id: string }): string {
  return `${write.part}/${write.id}`;
}

/** The store of a simulation: transactions with checks of revisions, and a disk that may be full. */
export class SimulatedStore {
  isFull = false;
  transactions = 0;
  /** How often each task and its status were put. */
  readonly putsOfTask = new Map<string, number>();
  readonly #parts = new Map<string, Stored>();
  #revision = 0;

  /**
   * Writes all or nothing. `seen` says at which revision the writer knows what it overwrites; parts that it does not
   * name are not checked.
   */
  commit(writes: readonly Write[], seen?: ReadonlyMap<string, number>): boolean {
    const isOutdated = writes.some((write) => {
      const known = seen?.get(keyOf(write));
      return known !== undefined && known !== this.revisionOf(write);
    });
    if (this.isFull || isOutdated) {
      return false;
    }
    this.transactions += 1;
    this.#revision += 1;
    for (const write of writes) {
      if (write.value === null) {
        this.#parts.delete(keyOf(write));
      } else {
        this.#parts.set(keyOf(write), { write, revision: this.#revision });
      }
      if (write.value !== null && (write.part === 'task' || write.part === 'status')) {
        this.putsOfTask.set(write.id, (this.putsOfTask.get(write.id) ?? 0) + 1);
      }
    }
    return true;
  }

  /** 0 for a part that is not there. */
  revisionOf(write: { part: PartName; id: string }): number {
    return this.#parts.get(keyOf(write))?.revision ?? 0;
  }

  get<P extends PartName>(part: P, id: string): Parts[P] | undefined {
    return this.#parts.get(keyOf({ part, id }))?.write.value as Parts[P] | undefined;
  }

  all<P extends PartName>(part: P): Parts[P][] {
    return [...this.#parts.values()].flatMap(({ write }) =>
      write.part === part ? [write.value as Parts[P]] : [],
    );
  }

  /** Everything, as a manager reads it that knew nothing: bytes and back. */
  *read(): Iterable<Write> {
    for (const { write } of this.#parts.values()) {
      const { part, id, value } = write;
      if (value !== null) {
        yield put(part, decodePart(part, id, encodePart(part, value as never)) as never);
      }
    }
  }
}
