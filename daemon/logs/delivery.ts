import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../base/logger.ts';
import type { LogMessage } from '../base/log-message.ts';
import { limits } from '../base/limits.ts';
import { failpoint } from '../base/failpoint.ts';
import type { DeliveryMode } from '../../runtime/log-drivers/common-options.ts';
import { RejectedError } from '../../runtime/log-drivers/sink.ts';
import type { SinkTerms } from '../../runtime/log-drivers/sink.ts';
import { readCursor, writeCursor } from '../../storage/logs/cursor.ts';
import type { DeliveryCursor } from '../../storage/logs/cursor.ts';
import { SpoolReader } from '../../storage/logs/spool-reader.ts';
import type { SpoolBatch } from '../../storage/logs/spool-reader.ts';
import { FileWatch } from '../../storage/logs/watch.ts';

export interface DeliveryDeps {
  id: string;
  logPath: string;
  terms: SinkTerms;
  mode: DeliveryMode;
  /** A file is delivered to its end, or everything is. */
  advanced: (this: void) => void;
  log: Logger;
}

/**
 * Brings one container's output from its log file to a receiver, in order, from where the last daemon was. What is
 * delivered is noted behind it, so lines may come twice after a crash and never go missing, except those that the
 * container's options or the bounds of the disk drop: these are counted.
 */
export class Delivery {
  readonly #deps: DeliveryDeps;
  readonly #stop = new AbortController();
  readonly #watch: FileWatch;
  #cursor: DeliveryCursor;
  #noted: DeliveryCursor;
  #notedAtMs = 0;
  #isEnded = false;
  #isFailing = false;
  /** Told of the next failure. */
  #failureListener: (() => void) | undefined;
  /** It takes no more: another one goes on from the place that is noted. */
  #isOver = false;
  /** Resolves when everything is delivered, or delivery was stopped. */
  readonly done: Promise<void>;

  constructor(deps: DeliveryDeps, isRunning: boolean) {
    this.#deps = deps;
    this.#cursor = readCursor(deps.logPath);
    this.#noted = this.#cursor;
    this.#isEnded = !isRunning;
    this.#watch = new FileWatch(deps.logPath);
    this.#stop.signal.addEventListener('abort', () => this.#watch.poke(), { once: true });
    this.done = this.#run();
  }

  /** Resolves as soon as the receiver takes nothing, now or the next time that it is asked. */
  failing(): Promise<void> {
    return new Promise((resolve) => {
      this.#failureListener = resolve;
      if (this.#isFailing) {
        resolve();
      }
    });
  }

  /** The oldest file that is needed. */
  get generation(): number {
    return this.#cursor.generation;
  }

  /** The container runs, again or still. False when this delivery is over and a new one is needed. */
  resume(): boolean {
    if (this.#isOver) {
      return false;
    }
    this.#isEnded = false;
    return true;
  }

  /** Nothing more will be written: `done` resolves when the rest is delivered. */
  end(): void {
    this.#isEnded = true;
    this.#watch.poke();
  }

  /** Files that waited for this delivery are gone. */
  lost(generations: readonly number[]): void {
    this.#deps.log.error(
      { container: this.#deps.id, files: generations.length, keptBytes: limits.logSpoolBytesMax },
      'log delivery: the receiver took nothing for so long that the oldest output was dropped',
    );
  }

  /** Ends it, delivered or not; what was is noted. */
  stop(): void {
    this.#isOver = true;
    this.#stop.abort();
  }

  async #run(): Promise<void> {
    const { id, logPath, terms, log } = this.#deps;
    try {
      await using reader = await this.#open();
      if (reader !== undefined) {
        await this.#pump(reader);
      }
      if (this.#stop.signal.aborted) {
        this.#note(true);
      }
    } catch (error) {
      log.error({ container: id, err: error, logPath }, 'log delivery ended; it goes on with the next start');
    } finally {
      this.#isOver = true;
      this.#stop.abort();
      this.#watch[Symbol.dispose]();
      terms.sink.close();
    }
  }

  /** Waits for the log's first file. */
  async #open(): Promise<SpoolReader | undefined> {
    const { logPath, terms } = this.#deps;
    for (;;) {
      const isLast = this.#isEnded;
      const reader = await SpoolReader.open(logPath, this.#cursor, terms.messageBytesMax);
      if (reader !== undefined || isLast || this.#stop.signal.aborted) {
        return reader;
      }
      await this.#watch.changed();
    }
  }

  async #pump(reader: SpoolReader): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const isLast = this.#isEnded;
      const batch = await this.#gather(reader, isLast);
      if (batch !== undefined) {
        await this.#deliver(reader, batch);
      } else if (isLast) {
        await this.#deliver(reader, reader.finish());
        if (this.#isEnded) {
          // In one step with the decision: a resume from here on begins another delivery, from this place.
          this.#note(true);
          this.#isOver = true;
          return;
        }
      } else {
        this.#note(true);
        await this.#watch.changed();
      }
    }
  }

  /** What is there, and what comes while more may join it. Undefined when there is nothing. */
  async #gather(reader: SpoolReader, isLast: boolean): Promise<SpoolBatch | undefined> {
    const first = await reader.next();
    const { lingerMs } = this.#deps.terms;
    if (first === undefined || lingerMs === 0) {
      return first;
    }
    const messages = [...first.messages];
    let { position } = first;
    const until = performance.now() + lingerMs;
    while (messages.length < limits.logBatchMessagesMax && !this.#stop.signal.aborted) {
      const more = await reader.next();
      if (more !== undefined) {
        messages.push(...more.messages);
        ({ position } = more);
        continue;
      }
      const leftMs = until - performance.now();
      if (isLast || this.#isEnded || leftMs <= 0) {
        break;
      }
      await this.#watch.changed(leftMs);
    }
    return { messages, position };
  }

  /** Until the receiver has it, or it is given up. Returns early when delivery is stopped. */
  async #deliver(reader: SpoolReader, given: SpoolBatch): Promise<void> {
    const { retryWaitMs, retriesMax } = this.#deps.terms;
    let batch = given;
    for (let attempt = 1; batch.messages.length > 0; attempt += 1) {
      const error = await this.#try(batch.messages);
      if (error === undefined) {
        break;
      }
      if (this.#stop.signal.aborted) {
        return;
      }
      if (error instanceof RejectedError || (retriesMax !== null && attempt > retriesMax)) {
        this.#drop(batch.messages.length, error);
        break;
      }
      batch = await this.#overflow(reader, batch);
      await this.#pause(Math.min(retryWaitMs * 2 ** Math.min(attempt - 1, 10), limits.logRetryMaxMs));
    }
    const isNewFile = batch.position.generation > this.#cursor.generation;
    this.#cursor = { ...this.#cursor, ...batch.position };
    // Noted before the file behind it may go: the next daemon must not look for it.
    this.#note(isNewFile);
    if (isNewFile) {
      this.#deps.advanced();
    }
  }

  /** The failure, or undefined. */
  async #try(messages: readonly LogMessage[]): Promise<Error | undefined> {
    const { id, log } = this.#deps;
    try {
      failpoint('logs.deliver.send');
      await this.#send(messages);
      failpoint('logs.deliver.sent');
    } catch (error) {
      const failure = error instanceof Error ? error : new Error(String(error));
      if (!this.#isFailing) {
        log.warn({ container: id, err: failure }, 'log delivery: the receiver takes nothing, trying again');
      }
      this.#isFailing = true;
      this.#failureListener?.();
      return failure;
    }
    if (this.#isFailing) {
      log.info({ container: id, dropped: this.#cursor.dropped }, 'log delivery: the receiver is back');
    }
    this.#isFailing = false;
    return undefined;
  }

  /** Not waited for when delivery is stopped: a receiver that is silent may be silent for minutes. */
  #send(messages: readonly LogMessage[]): Promise<void> {
    return new Promise((resolve, reject) => {
      const stopped = (): void => reject(new Error('delivery was stopped'));
      if (this.#stop.signal.aborted) {
        // In the pause before this attempt.
        stopped();
        return;
      }
      this.#stop.signal.addEventListener('abort', stopped, { once: true });
      this.#deps.terms.sink
        .send(messages)
        .finally(() => this.#stop.signal.removeEventListener('abort', stopped))
        .then(resolve, reject);
    });
  }

  /** In mode non-blocking: lets the oldest go until no more waits than the buffer may hold. */
  async #overflow(reader: SpoolReader, batch: SpoolBatch): Promise<SpoolBatch> {
    const { bufferBytesMax } = this.#deps.mode;
    if (bufferBytesMax === null) {
      return batch;
    }
    let kept = batch;
    while (reader.unreadBytes() + bytesOf(kept.messages) > bufferBytesMax) {
      const next = await reader.next();
      if (next === undefined) {
        break;
      }
      this.#drop(kept.messages.length);
      kept = next;
    }
    return kept;
  }

  #drop(lines: number, error?: Error): void {
    if (lines === 0) {
      return;
    }
    const dropped = this.#cursor.dropped + lines;
    this.#cursor = { ...this.#cursor, dropped };
    this.#deps.log.warn(
      { container: this.#deps.id, lines, dropped, ...(error && { err: error }) },
      'log delivery: lines were dropped',
    );
  }

  /** Writes down how far it is, at most every so often unless it is `now`. */
  #note(now: boolean): void {
    const ms = performance.now();
    if (this.#cursor === this.#noted || (!now && ms - this.#notedAtMs < limits.logCursorMs)) {
      return;
    }
    this.#notedAtMs = ms;
    try {
      failpoint('logs.deliver.note');
      writeCursor(this.#deps.logPath, this.#cursor);
      this.#noted = this.#cursor;
    } catch (error) {
      // A full disk, or the container is being removed: what is delivered may be delivered again.
      this.#deps.log.warn(
        { container: this.#deps.id, err: error },
        'log delivery: its place could not be noted',
      );
    }
  }

  async #pause(ms: number): Promise<void> {
    try {
      await sleep(ms, undefined, { signal: this.#stop.signal, ref: false });
    } catch {
      // Stopped: the waiting loop checks for that next.
    }
  }
}

function bytesOf(messages: readonly LogMessage[]): number {
  return messages.reduce((sum, { line }) => sum + line.length, 0);
}
