import { Worker } from 'node:worker_threads';
import { internal } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import { toError, type LayerJob, type LayerReply } from './worker-protocol.ts';

/** A bounded set of threads with a line of waiting jobs. */
export class Lane {
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
export class LayerThread {
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
      this.#job?.reject(toError(reply));
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
const WORKER_OPTIONS = {
  trackUnmanagedFds: false,
  resourceLimits: { maxYoungGenerationSizeMb: limits.layerWorkerYoungMbMax },
};

/** From the build output plainly; from the sources through tsx, which does not reach into workers by itself. */
function startWorker(): Worker {
  if (!import.meta.url.endsWith('.ts')) {
    return new Worker(new URL('layer-worker.js', import.meta.url), WORKER_OPTIONS);
  }
  const entry = JSON.stringify(new URL('layer-worker.ts', import.meta.url).href);
  const start = `import('tsx/esm/api').then(({ register }) => { register(); return import(${entry}); });`;
  return new Worker(start, { ...WORKER_OPTIONS, eval: true, execArgv: [] });
}
