import { Worker } from 'node:worker_threads';
import { limits } from '../../../base/limits.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/logger.ts';
import type { Occurrence } from '../../occurrences/occurrence.ts';
import type { Courier, Errand } from '../courier.ts';
import type { SealedDelivery } from '../delivery.ts';
import type { ErrandBatch, MadeBatch, NumberedErrands, ThreadFacts } from './protocol.ts';

interface Deps {
  facts: ThreadFacts;
  /** For what does not leave this process. */
  own: Courier;
  clock: Clock;
  log: Logger;
  /** Starts a thread: for tests. */
  start?: (facts: ThreadFacts) => Worker;
}

interface Pending {
  errands: readonly Errand[];
  resolve: (made: readonly SealedDelivery[]) => void;
}

/**
 * {@link Courier} that has deliveries made on a thread of their own: payloads, signatures, connections and packing cost
 * the thread that answers requests nothing. It starts with the first delivery. What a thread that dies had under way is
 * made again by the next one.
 */
export class CourierThread implements Courier, Disposable {
  readonly #deps: Deps;
  readonly #pending = new Map<number, Pending>();
  readonly #occurrences = new WeakMap<Occurrence, number>();
  #batch: NumberedErrands[] = [];
  #lastNumber = 0;
  #worker: Worker | undefined;
  #isResting = false;
  #isClosed = false;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  deliver(errands: readonly Errand[]): Promise<readonly SealedDelivery[]> {
    if (errands[0]?.hook.config.url.startsWith('engine:') === true) {
      return this.#deps.own.deliver(errands);
    }
    return new Promise((resolve) => {
      this.#lastNumber += 1;
      const number = this.#lastNumber;
      this.#pending.set(number, { errands, resolve });
      this.#post(number, errands);
    });
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    // One that cannot be ended has ended.
    void this.#worker?.terminate().catch(() => undefined);
  }

  /** Errands of one turn go together. */
  #post(number: number, errands: readonly Errand[]): void {
    if (this.#batch.length === 0) {
      queueMicrotask(() => this.#flush());
    }
    const known = errands.map((errand) => {
      const occurrence = this.#numberOf(errand);
      return { errand, ...(occurrence !== undefined && { occurrence }) };
    });
    this.#batch.push({ number, errands: known });
  }

  #flush(): void {
    const batch: ErrandBatch = this.#batch;
    this.#batch = [];
    if (batch.length === 0 || this.#isClosed || this.#isResting) {
      // What is pending is posted when the next thread starts.
      return;
    }
    this.#worker ??= this.#start();
    this.#worker.postMessage(batch, []);
  }

  #numberOf({ intent: { news } }: Errand): number | undefined {
    if (news.kind !== 'occurrence') {
      return undefined;
    }
    const known = this.#occurrences.get(news.occurrence);
    if (known !== undefined) {
      return known;
    }
    this.#lastNumber += 1;
    this.#occurrences.set(news.occurrence, this.#lastNumber);
    return this.#lastNumber;
  }

  #start(): Worker {
    const worker = (this.#deps.start ?? startWorker)(this.#deps.facts);
    // What is intended outlives the process: nothing has to be waited for.
    worker.unref();
    worker.on('message', (batch: MadeBatch) => this.#made(batch));
    worker.on('error', (error) => {
      this.#deps.log.error({ err: error }, 'the thread of deliveries has failed');
    });
    worker.on('exit', () => this.#rest());
    return worker;
  }

  #made(batch: MadeBatch): void {
    for (const { number, made } of batch) {
      const pending = this.#pending.get(number);
      this.#pending.delete(number);
      pending?.resolve(
        made.map(({ body, ...rest }) => ({
          ...rest,
          body: Buffer.from(body.buffer, body.byteOffset, body.length),
        })),
      );
    }
  }

  #rest(): void {
    this.#worker = undefined;
    if (this.#isClosed) {
      return;
    }
    this.#isResting = true;
    this.#deps.clock.setTimeout(() => {
      this.#isResting = false;
      this.#batch = [];
      this.#pending.forEach(({ errands }, number) => this.#post(number, errands));
    }, limits.hubDeliveriesRetryMs);
  }
}

/** From the build output plainly; from the sources through tsx, which does not reach into workers by itself. */
export function startWorker(facts: ThreadFacts): Worker {
  const options = {
    workerData: facts,
    resourceLimits: { maxYoungGenerationSizeMb: limits.hubDeliveriesYoungMbMax },
  };
  if (!import.meta.url.endsWith('.ts')) {
    return new Worker(new URL('delivery-worker.js', import.meta.url), options);
  }
  const entry = JSON.stringify(new URL('delivery-worker.ts', import.meta.url).href);
  const start = `import('tsx/esm/api').then(({ register }) => { register(); return import(${entry}); });`;
  return new Worker(start, { ...options, eval: true, execArgv: [] });
}
