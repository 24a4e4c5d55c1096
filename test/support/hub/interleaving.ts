import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { RegistryBlob } from '../../../api/types/hub/registry.ts';
import type { Records } from '../../../daemon/hub/records/port.ts';
import type { BlobFiles, UploadFile } from '../../../daemon/hub/registry/files/port.ts';
import type { SeededRandom } from '../seeded-random.ts';

/** Lets one of those that wait go on at a time, in an order that a seed gives. */
export class Interleaving {
  readonly #random: SeededRandom;
  readonly #waiting: (() => void)[] = [];

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  /** Resolves when it is this one's turn. */
  turn(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  /** Until all have ended. Throws what one of them throws, and where none can go on. */
  async run(works: readonly Promise<void>[]): Promise<void> {
    const progress = { isOver: false };
    const ended = Promise.all(works).finally(() => {
      progress.isOver = true;
    });
    // What failed is thrown below, after the others came to rest.
    ended.catch(() => undefined);
    for (let idle = 0; !progress.isOver && idle < IDLE_MAX; idle += 1) {
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
      const [next] = this.#waiting.splice(this.#random.below(this.#waiting.length), 1);
      if (next !== undefined) {
        idle = 0;
        next();
      }
    }
    if (!progress.isOver) {
      throw new Error('none of them can go on');
    }
    await ended;
  }
}

/** Turns of the event loop in which nobody asks for one. */
const IDLE_MAX = 1_000;

/** Records whose updates take a while, before they are made and after. */
export function slowRecords(records: Records, turns: Interleaving): Records {
  return {
    get: (key) => records.get(key),
    list: (prefix, options) => records.list(prefix, options),
    watch: (prefix, from, watcher) => records.watch(prefix, from, watcher),
    update: async (changes) => {
      await turns.turn();
      const revision = await records.update(changes);
      await turns.turn();
      return revision;
    },
  };
}

/** Bytes in memory, for which every step takes a while. */
export class SlowFiles implements BlobFiles {
  readonly blobs = new Map<string, Buffer>();
  readonly pending = new Map<string, Buffer>();
  readonly #turns: Interleaving;

  constructor(turns: Interleaving) {
    this.#turns = turns;
  }

  size(digest: string): Promise<number | undefined> {
    return this.#step(() => this.blobs.get(digest)?.length);
  }

  open(digest: string): Promise<RegistryBlob | undefined> {
    return this.#step(() => {
      const bytes = this.blobs.get(digest);
      return (
        bytes && {
          size: bytes.length,
          stream: (start: number, end: number) => Readable.from([bytes.subarray(start, end + 1)]),
          [Symbol.asyncDispose]: () => Promise.resolve(),
        }
      );
    });
  }

  read(digest: string): Promise<Buffer | undefined> {
    return this.#step(() => this.blobs.get(digest));
  }

  async put(digest: string, bytes: Buffer): Promise<void> {
    await this.#step(() => this.blobs.set(digest, bytes));
  }

  remove(digest: string): Promise<boolean> {
    return this.#step(() => this.blobs.delete(digest));
  }

  digests(): Promise<string[]> {
    return this.#step(() => [...this.blobs.keys()]);
  }

  /** No other host has these records. */
  createIncoming(): Promise<never> {
    return Promise.reject(new Error('nothing comes from elsewhere'));
  }

  createUpload(id: string): Promise<UploadFile> {
    return this.#step(() => {
      this.pending.set(id, Buffer.alloc(0));
      return this.#upload(id);
    });
  }

  findUpload(id: string): Promise<UploadFile | undefined> {
    return this.#step(() => (this.pending.has(id) ? this.#upload(id) : undefined));
  }

  uploads(): Promise<{ id: string; size: number; changedMs: number }[]> {
    return this.#step(() => [...this.pending].map(([id, { length: size }]) => ({ id, size, changedMs: 0 })));
  }

  #upload(id: string): UploadFile {
    const bytes = (): Buffer => this.pending.get(id) ?? Buffer.alloc(0);
    const { blobs, pending } = this;
    return {
      get size() {
        return bytes().length;
      },
      append: async (stream, grow) => {
        const got = Buffer.concat(await stream.toArray());
        grow(bytes().length + got.length);
        await this.#step(() => pending.set(id, Buffer.concat([bytes(), got])));
      },
      digest: () => this.#step(() => `sha256:${createHash('sha256').update(bytes()).digest('hex')}`),
      publish: (digest) =>
        this.#step(() => {
          blobs.set(digest, bytes());
          pending.delete(id);
        }),
      remove: () => this.#step(() => void pending.delete(id)),
    };
  }

  async #step<T>(effect: () => T): Promise<T> {
    await this.#turns.turn();
    const result = effect();
    await this.#turns.turn();
    return result;
  }
}
