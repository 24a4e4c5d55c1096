import { availableParallelism } from 'node:os';
import { Readable } from 'node:stream';
import { Worker } from 'node:worker_threads';
import { EngineError, internal, InvariantError } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { AppliedLayer, ApplyRequest } from './apply.ts';
import { SharedControl, type LayerJob, type LayerReply } from './worker-protocol.ts';

/** Chunks of a replay that may wait for a slow reader. */
const CHUNKS_AHEAD = 4;

/**
 * Threads that unpack layers and write them out again. Started when there is work, ended when there has been none
 * for a while. Unpacking uses as many as there are cores; writing out has threads of its own, because a slow client
 * holds one as long as it likes.
 */
export class LayerWorkers implements AsyncDisposable {
  readonly #appliers = new Lane(Math.max(1, availableParallelism()));
  readonly #readers = new Lane(limits.layerReadersMax);

  /**
   * Unpacks a layer (apply.ts); waits for a free thread. `onProgress` gets a function that tells how many bytes of the
   * blob were read. A canceled signal stops it within one chunk; then it rejects with `canceled`.
   */
  async apply(
    request: ApplyRequest,
    options: { signal?: AbortSignal; onStart?: (bytesRead: () => number) => void } = {},
  ): Promise<AppliedLayer> {
    const control = new SharedControl();
    const cancel = (): void => control.cancel();
    options.signal?.addEventListener('abort', cancel, { once: true });
    const thread = await this.#appliers.acquire();
    try {
      if (options.signal?.aborted === true) {
        cancel();
      }
      options.onStart?.(() => control.bytesRead);
      const reply = await thread.run({ kind: 'apply', request, control: control.memory });
      if (reply.kind !== 'applied') {
        throw new InvariantError(`layer worker answered ${reply.kind} to apply`);
      }
      return reply.layer;
    } finally {
      options.signal?.removeEventListener('abort', cancel);
      this.#appliers.release(thread);
    }
  }

  /** The layer's tar, written again from its files and checked at the end; destroying the stream frees the thread. */
  replay(directory: string, diffId: string): Readable {
    const control = new SharedControl();
    const state = { outstanding: 0 };
    const stream: Readable = new Readable({
      highWaterMark: 1024 * 1024,
      read: () => {
        // One grant per chunk taken: what is granted and not yet read never exceeds CHUNKS_AHEAD.
        if (state.outstanding < CHUNKS_AHEAD) {
          control.grant(CHUNKS_AHEAD - state.outstanding);
          state.outstanding = CHUNKS_AHEAD;
        }
      },
      destroy: (error, done) => {
        control.cancel();
        done(error);
      },
    });
    this.#pump(stream, { kind: 'replay', directory, diffId, control: control.memory }, state).catch(
      (error: unknown) => {
        stream.destroy(error instanceof Error ? error : internal(String(error)));
      },
    );
    return stream;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#appliers.close(), this.#readers.close()]);
  }

  async #pump(stream: Readable, job: LayerJob, state: { outstanding: number }): Promise<void> {
    const thread = await this.#readers.acquire();
    try {
      await thread.run(job, (chunk) => {
        state.outstanding -= 1;
        stream.push(chunk);
      });
      stream.push(null);
    } finally {
      this.#readers.release(thread);
    }
  }
}

/** A bounded set of threads with a line of waiting jobs. */
class Lane {
  readonly #max: number;
  readonly #idle: LayerThread[] = [];
  readonly #all = new Set<LayerThread>();
  readonly #waiting: ((thread: LayerThread) => void)[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(max: number) {
    this.#max = max;
  }

  async acquire(): Promise<LayerThread> {
    const idle = this.#idle.pop();
    if (idle !== undefined) {
      return idle;
    }
    if (this.#all.size < this.#max) {
      return this.#start();
    }
    return await new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  release(thread: LayerThread): void {
    if (thread.ended) {
      this.#all.delete(thread);
    }
    const next = this.#waiting.shift();
    if (next !== undefined) {
      next(thread.ended ? this.#start() : thread);
      return;
    }
    if (!thread.ended) {
      this.#idle.push(thread);
    }
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#endIdle(), limits.layerWorkerIdleMs);
    this.#timer.unref();
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await Promise.all([...this.#all].map((thread) => thread.end()));
    this.#all.clear();
  }

  #start(): LayerThread {
    const thread = new LayerThread();
    this.#all.add(thread);
    return thread;
  }

  async #endIdle(): Promise<void> {
    for (const thread of this.#idle.splice(0)) {
      this.#all.delete(thread);
      await thread.end();
    }
  }
}

/** One worker thread, doing one job at a time. */
class LayerThread {
  readonly #worker: Worker;
  #job:
    | {
        resolve: (reply: LayerReply) => void;
        reject: (error: Error) => void;
        onChunk: ((chunk: Uint8Array) => void) | undefined;
      }
    | undefined;
  ended = false;

  constructor() {
    this.#worker = startWorker();
    // An idle thread does not keep the process alive; a working one is waited for by its caller.
    this.#worker.unref();
    this.#worker.on('message', (reply: LayerReply) => this.#receive(reply));
    this.#worker.on('error', (error) => this.#fail(error));
    this.#worker.on('exit', (code) => this.#fail(internal(`layer worker ended with code ${code}`)));
  }

  async run(job: LayerJob, onChunk?: (chunk: Uint8Array) => void): Promise<LayerReply> {
    this.#worker.ref();
    try {
      return await new Promise((resolve, reject) => {
        this.#job = { resolve, reject, onChunk };
        this.#worker.postMessage(job, []);
      });
    } finally {
      this.#job = undefined;
      this.#worker.unref();
    }
  }

  async end(): Promise<void> {
    this.ended = true;
    await this.#worker.terminate();
  }

  #receive(reply: LayerReply): void {
    if (reply.kind === 'chunk') {
      this.#job?.onChunk?.(reply.chunk);
    } else if (reply.kind === 'failed') {
      this.#job?.reject(new EngineError(reply.code, reply.message));
    } else {
      this.#job?.resolve(reply);
    }
  }

  #fail(error: Error): void {
    this.ended = true;
    this.#job?.reject(error);
  }
}

/** Descriptors are opened by foreign calls, which Node's book-keeping of a worker's descriptors does not see. */
const WORKER_OPTIONS = { trackUnmanagedFds: false };

/** From the build output plainly; from the sources through tsx, which does not reach into workers by itself. */
function startWorker(): Worker {
  if (!import.meta.url.endsWith('.ts')) {
    return new Worker(new URL('layer-worker.js', import.meta.url), WORKER_OPTIONS);
  }
  const entry = JSON.stringify(new URL('layer-worker.ts', import.meta.url).href);
  const start = `import('tsx/esm/api').then(({ register }) => { register(); return import(${entry}); });`;
  return new Worker(start, { ...WORKER_OPTIONS, eval: true, execArgv: [] });
}
