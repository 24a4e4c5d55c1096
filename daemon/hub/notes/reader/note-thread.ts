import { Worker } from 'node:worker_threads';
import type { Clock } from '../../../base/clock.ts';
import { EngineError, InvariantError } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import type { Logger } from '../../../base/logger.ts';
import type { NoteParts, NoteReader, ReadNote } from './port.ts';
import type { NoteWork, NoteWorkResult } from './work.ts';

/** From the thread. */
export type NoteThreadMessage =
  /** It takes work. */
  { kind: 'ready' } | { kind: 'done'; result: NoteWorkResult } | { kind: 'failed'; message: string };

interface Deps {
  clock: Clock;
  log: Logger;
  /** Starts a thread: for tests. */
  start?: () => Worker;
}

interface Pending {
  work: NoteWork;
  /** Undefined = it took too much. */
  resolve: (result: NoteWorkResult | undefined) => void;
  reject: (error: Error) => void;
}

/**
 * {@link NoteReader} on a thread of its own, one note at a time: a note that keeps a parser busy keeps nobody else
 * waiting. What takes longer than `limits.hubNoteWorkMs`, or more memory than the thread has, ends the thread; the next
 * note gets another one.
 */
export class NoteThread implements NoteReader, Disposable {
  readonly #deps: Deps;
  readonly #waiting: Pending[] = [];
  #current: Pending | undefined;
  #worker: Worker | undefined;
  #isReady = false;
  #timer: Disposable | undefined;
  #isClosed = false;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  async read(parts: NoteParts): Promise<ReadNote> {
    return judged(await this.#do({ kind: 'read', parts }));
  }

  async unpack(config: Uint8Array, layer: Uint8Array): Promise<ReadNote> {
    return judged(await this.#do({ kind: 'unpack', config, layer }));
  }

  async render(text: string): Promise<string | undefined> {
    const result = await this.#do({ kind: 'render', text });
    return result?.kind === 'html' ? result.html : undefined;
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#end();
    this.#failAll(gone());
  }

  #do(work: NoteWork): Promise<NoteWorkResult | undefined> {
    if (this.#isClosed) {
      return Promise.reject(gone());
    }
    if (this.#waiting.length >= limits.hubNotesWaitingMax) {
      const text = `${limits.hubNotesWaitingMax} notes are waiting to be read already: try again`;
      return Promise.reject(new EngineError('unavailable', text));
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ work, resolve, reject });
      this.#next();
    });
  }

  #next(): void {
    if (this.#current !== undefined || this.#waiting.length === 0) {
      return;
    }
    const worker = (this.#worker ??= this.#start());
    if (!this.#isReady) {
      return;
    }
    this.#current = this.#waiting.shift();
    worker.postMessage(this.#current?.work, []);
    this.#timer = this.#deps.clock.setTimeout(() => this.#tooMuch(), limits.hubNoteWorkMs);
  }

  #start(): Worker {
    const worker = (this.#deps.start ?? startWorker)();
    // Nobody waits for what is not answered any more.
    worker.unref();
    worker.on('message', (message: NoteThreadMessage) => {
      if (worker === this.#worker) {
        this.#hear(message);
      }
    });
    worker.on('error', (error) =>
      this.#deps.log.warn({ err: error }, 'the thread that reads notes has failed'),
    );
    worker.on('exit', () => {
      if (worker === this.#worker) {
        this.#died();
      }
    });
    return worker;
  }

  #hear(message: NoteThreadMessage): void {
    if (message.kind === 'ready') {
      this.#isReady = true;
      this.#next();
      return;
    }
    const done = this.#take();
    if (message.kind === 'done') {
      done?.resolve(message.result);
    } else {
      done?.reject(new InvariantError(`a note could not be read: ${message.message}`));
    }
    this.#next();
  }

  #tooMuch(): void {
    this.#deps.log.warn({ limitMs: limits.hubNoteWorkMs }, 'a note takes too long: its thread is ended');
    this.#end();
    this.#take()?.resolve(undefined);
    this.#next();
  }

  /** By itself: for want of memory, while it has work. */
  #died(): void {
    const wasReady = this.#isReady;
    this.#end();
    this.#take()?.resolve(undefined);
    if (wasReady) {
      this.#next();
    } else {
      this.#failAll(new EngineError('unavailable', 'the thread that reads notes does not start'));
    }
  }

  #end(): void {
    const worker = this.#worker;
    this.#worker = undefined;
    this.#isReady = false;
    // One that cannot be ended has ended.
    void worker?.terminate().catch(() => undefined);
  }

  #take(): Pending | undefined {
    const current = this.#current;
    this.#current = undefined;
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    return current;
  }

  #failAll(error: Error): void {
    const all = [this.#take(), ...this.#waiting.splice(0)];
    all.forEach((pending) => pending?.reject(error));
  }
}

function gone(): EngineError {
  return new EngineError('unavailable', 'the hub is being closed');
}

function judged(result: NoteWorkResult | undefined): ReadNote {
  if (result?.kind === 'note') {
    return result.read;
  }
  const message = `cannot be read within ${limits.hubNoteWorkMs} ms and ${limits.hubNoteThreadMbMax} MB`;
  return { problems: [{ resource: 'Note', field: 'markdown', code: 'unprocessable', message }] };
}

/** From the build output plainly; from the sources through tsx, which does not reach into workers by itself. */
export function startWorker(): Worker {
  const options = { resourceLimits: { maxOldGenerationSizeMb: limits.hubNoteThreadMbMax } };
  if (!import.meta.url.endsWith('.ts')) {
    return new Worker(new URL('note-worker.js', import.meta.url), options);
  }
  const entry = JSON.stringify(new URL('note-worker.ts', import.meta.url).href);
  const start = `import('tsx/esm/api').then(({ register }) => { register(); return import(${entry}); });`;
  return new Worker(start, { ...options, eval: true, execArgv: [] });
}
