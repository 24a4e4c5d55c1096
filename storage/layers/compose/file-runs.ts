import type { TarMember } from '../../tar/parser.ts';

/** What a thread takes at a time: so much that taking does not count, so little that all end at about the same time. */
const RUN_FILES = 64;
const RUN_BYTES = 4 * 1024 * 1024;

/** Files in runs of neighbours, which threads take from each other: each run is taken once. */
export class FileRuns {
  readonly #files: readonly TarMember[];
  /** Where runs begin; the last one is the end. */
  readonly #starts: readonly number[];
  readonly #next: Int32Array;

  /** `memory` is that of the same files in another thread. */
  constructor(files: readonly TarMember[], memory = new SharedArrayBuffer(4)) {
    this.#files = files;
    this.#starts = startsOf(files);
    this.#next = new Int32Array(memory);
    this.memory = memory;
  }

  readonly memory: SharedArrayBuffer;

  /** Undefined: all are taken. */
  take(): readonly TarMember[] | undefined {
    const index = Atomics.add(this.#next, 0, 1);
    const [start, end] = this.#starts.slice(index, index + 2);
    return start === undefined || end === undefined ? undefined : this.#files.slice(start, end);
  }

  /** Nobody gets another one. */
  end(): void {
    Atomics.store(this.#next, 0, this.#starts.length);
  }
}

function startsOf(files: readonly TarMember[]): number[] {
  const starts = [0];
  let count = 0;
  let bytes = 0;
  for (const [index, { size }] of files.entries()) {
    if (count === RUN_FILES || bytes >= RUN_BYTES) {
      starts.push(index);
      count = 0;
      bytes = 0;
    }
    count += 1;
    bytes += size;
  }
  return [...starts, files.length];
}
