import { availableParallelism } from 'node:os';
import type { Readable } from 'node:stream';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { InvariantError } from '../../../daemon/base/errors.ts';
import { limits } from '../../../daemon/base/limits.ts';
import type { AppliedLayer, ApplyRequest } from '../apply-request.ts';
import type { Composed, ComposeRequest } from '../compose/compose.ts';
import type { PackedLayer, PackRequest } from '../pack.ts';
import { streamOf } from './worker-stream.ts';
import { packRequest, SharedControl, type LayerJob, type LayerReply } from './worker-protocol.ts';
import { IdleThreads, ThreadPool } from './worker-threads.ts';

/** What takes no longer than to start a thread is not worth one. */
const HELPED_FILES_MIN = 1000;
const HELPED_BYTES_MIN = 64 * 1024 * 1024;

/** One that makes a layer, and one that helps. */
const COMPOSERS = 2;

/** Of a job that a thread does at one go. */
export interface JobOptions {
  signal?: AbortSignal;
  onStart?: (bytesDone: () => number) => void;
}

/**
 * Threads that unpack layers and write them out again. Unpacking uses as many as there are cores; writing out has a
 * pool of its own, because a slow client holds a thread as long as it likes.
 */
export class LayerWorkers implements AsyncDisposable {
  readonly #idle: IdleThreads;
  readonly #appliers: ThreadPool;
  readonly #readers: ThreadPool;

  /** `idle` may be shared with others, so that threads go from one kind of work to the next. */
  constructor(idle = new IdleThreads()) {
    this.#idle = idle;
    this.#appliers = new ThreadPool(Math.max(1, availableParallelism()), idle);
    this.#readers = new ThreadPool(limits.layerReadersMax, idle);
  }

  /**
   * Unpacks a layer (apply.ts); waits for a free thread. `onStart` gets a function that tells how many bytes of the
   * blob were read. A canceled signal stops it within one chunk; then it rejects with `canceled`.
   */
  async apply(request: ApplyRequest, options: JobOptions = {}): Promise<AppliedLayer> {
    const reply = await this.#run((control) => ({ kind: 'apply', request, control }), options);
    if (reply.kind !== 'applied') {
      throw new InvariantError(`layer worker answered ${reply.kind} to apply`);
    }
    return reply.layer;
  }

  /**
   * So many files are on their way to `compose`: the thread that will help is started while they come, as starting it
   * takes 0.1 s.
   */
  expectFiles(count: number): void {
    if (count >= HELPED_FILES_MIN) {
      this.#idle.expect(COMPOSERS);
    }
  }

  /**
   * Makes a layer of files (compose/compose.ts). Where there are many, and a thread has nothing else to do, that one
   * helps. A canceled signal stops it within one file.
   */
  async compose(request: ComposeRequest, options: JobOptions = {}): Promise<Composed> {
    const reply = await this.#run((control, helping) => {
      const helper = isWorthHelp(request) ? this.#help(control, helping) : undefined;
      return { kind: 'compose', request: packRequest(request), control, ...(helper && { helper }) };
    }, options);
    if (reply.kind !== 'composed') {
      throw new InvariantError(`layer worker answered ${reply.kind} to compose`);
    }
    return reply.composed;
  }

  /** Compresses a layer into a file (pack.ts). As `apply`; the bytes are those of the tar. */
  async pack(request: PackRequest, options: JobOptions = {}): Promise<PackedLayer> {
    const reply = await this.#run((control) => ({ kind: 'pack', request, control }), options);
    if (reply.kind !== 'packed') {
      throw new InvariantError(`layer worker answered ${reply.kind} to pack`);
    }
    return reply.packed;
  }

  /** The layer's tar, written again from its files and checked at the end; destroying the stream frees the thread. */
  replay(directory: string, diffId: string): Readable {
    return streamOf(this.#readers, (control) => ({ kind: 'replay', directory, diffId, control }));
  }

  /** Answers what leads to a second thread, if there is one; `helping` gets what resolves when that has ended. */
  #help(control: SharedArrayBuffer, helping: Promise<unknown>[]): MessagePort | undefined {
    const thread = this.#appliers.acquireNow();
    if (thread === undefined) {
      return undefined;
    }
    const { port1, port2 } = new MessageChannel();
    const work = async (): Promise<void> => {
      try {
        await thread.run({ kind: 'help', port: port2, control });
      } finally {
        this.#appliers.release(thread);
      }
    };
    helping.push(work());
    return port1;
  }

  async #run(
    makeJob: (control: SharedArrayBuffer, helping: Promise<unknown>[]) => LayerJob,
    { signal, onStart }: JobOptions,
  ): Promise<LayerReply> {
    const control = new SharedControl();
    const helping: Promise<unknown>[] = [];
    const cancel = (): void => control.cancel();
    signal?.addEventListener('abort', cancel, { once: true });
    const thread = await this.#appliers.acquire();
    try {
      if (signal?.aborted === true) {
        cancel();
      }
      onStart?.(() => control.bytesRead);
      return await thread.run(makeJob(control.memory, helping));
    } finally {
      // Who is helped is told how that ended; here it is only over.
      await Promise.allSettled(helping);
      signal?.removeEventListener('abort', cancel);
      this.#appliers.release(thread);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#appliers.close(), this.#readers.close(), this.#idle.close()]);
  }
}

function isWorthHelp({ files: { source } }: ComposeRequest): boolean {
  // Of a tree there are few.
  const members = source.kind === 'tree' ? [] : source.members;
  return (
    members.length >= HELPED_FILES_MIN || members.reduce((sum, { size }) => sum + size, 0) >= HELPED_BYTES_MIN
  );
}
