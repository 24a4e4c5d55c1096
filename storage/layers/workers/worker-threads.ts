import { Worker, type MessagePort } from 'node:worker_threads';
import { Semaphore } from '../../../daemon/base/concurrency/semaphore.ts';
import { internal } from '../../../daemon/base/errors.ts';
import { returnFreeMemory } from '../../../daemon/base/kernel/processes/malloc.ts';
import { limits } from '../../../daemon/base/limits.ts';
import { toError, type LayerJob, type LayerReply } from './worker-protocol.ts';

/**
 * Threads without work, for whichever pool needs one next. When nothing was done for a while they end, and give the
 * memory that their work took back; one that has done nothing yet is kept, because a thread takes longer to start than
 * most of what is asked of it takes to do.
 */
export class IdleThreads {
  readonly #threads: LayerThread[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  acquire(): LayerThread {
    for (let idle = this.#threads.pop(); idle !== undefined; idle = this.#threads.pop()) {
      // It may have died while it was idle.
      if (!idle.ended) {
        return idle;
      }
    }
    return new LayerThread();
  }

  release(thread: LayerThread): void {
    if (this.#isClosed) {
      // One that cannot be ended has ended.
      void thread.end().catch(() => undefined);
      return;
    }
    if (!thread.ended) {
      this.#threads.push(thread);
    }
    this.rest();
  }

  /** So many will soon be needed at once: those that are not there are started. */
  expect(count: number): void {
    if (this.#isClosed) {
      return;
    }
    while (this.#threads.length < count) {
      this.#threads.push(new LayerThread());
    }
    this.rest();
  }

  /** From now on nothing is done, until the next `acquire`. */
  rest(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      // One that cannot be ended has ended.
      void this.#renew().catch(() => undefined);
    }, limits.layerWorkerIdleMs);
    this.#timer.unref();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await Promise.all(this.#threads.splice(0).map((thread) => thread.end()));
  }

  async #renew(): Promise<void> {
    const idle = this.#threads.splice(0);
    const kept = idle.find((thread) => thread.isFresh && !thread.ended) ?? new LayerThread();
    this.#threads.push(kept);
    const ending = idle.filter((thread) => thread !== kept);
    await Promise.all(ending.map((thread) => thread.end()));
    if (ending.length > 0) {
      returnFreeMemory();
    }
  }
}

/** So many threads at once for one kind of work. */
export class ThreadPool {
  readonly #permits: Semaphore;
  readonly #idle: IdleThreads;
  readonly #busy = new Map<LayerThread, Disposable>();

  constructor(max: number, idle: IdleThreads) {
    this.#permits = new Semaphore(max);
    this.#idle = idle;
  }

  async acquire(): Promise<LayerThread> {
    return this.#take(await this.#permits.acquire());
  }

  /** Undefined where it would have to be waited for. */
  acquireNow(): LayerThread | undefined {
    const permit = this.#permits.acquireNow();
    return permit && this.#take(permit);
  }

  /** The next waiting job gets this thread: of the idle ones the last comes first. */
  release(thread: LayerThread): void {
    const permit = this.#busy.get(thread);
    this.#busy.delete(thread);
    this.#idle.release(thread);
    permit?.[Symbol.dispose]();
  }

  #take(permit: Disposable): LayerThread {
    const thread = this.#idle.acquire();
    this.#busy.set(thread, permit);
    return thread;
  }

  /** Ends the threads that work. */
  async close(): Promise<void> {
    await Promise.all([...this.#busy.keys()].map((thread) => thread.end()));
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
  /** It has done nothing yet. */
  isFresh = true;

  constructor() {
    this.#worker = startWorker();
    // An idle thread does not keep the process alive; a working one is waited for by its caller.
    this.#worker.unref();
    this.#worker.on('message', (reply: LayerReply) => this.#receive(reply));
    this.#worker.on('error', (error) => this.#fail(error));
    this.#worker.on('exit', (code) => this.#fail(internal(`layer worker ended with code ${code}`)));
  }

  async run(job: LayerJob, onChunk?: (chunk: Uint8Array) => void): Promise<LayerReply> {
    this.isFresh = false;
    const ports = portsOf(job);
    this.#worker.ref();
    try {
      return await new Promise((resolve, reject) => {
        this.#job = { resolve, reject, onChunk };
        this.#worker.postMessage(job, ports);
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

/** They change hands with the job. */
function portsOf(job: LayerJob): MessagePort[] {
  if (job.kind === 'help') {
    return [job.port];
  }
  return job.kind === 'compose' && job.helper !== undefined ? [job.helper] : [];
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
