import { Worker } from 'node:worker_threads';
import { limits } from '../../../base/limits.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/logger.ts';
import type { Occurrence } from '../../occurrences/occurrence.ts';
import type { Courier, Errand } from '../courier.ts';
import type { SealedDelivery } from '../delivery.ts';
import type { ErrandBatch, MadeBatch, NumberedErrand, ThreadFacts } from './protocol.ts';

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
  errand: Errand;
  resolve: (made: SealedDelivery) => void;
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
  #batch: NumberedErrand[] = [];
  #lastNumber = 0;
  #worker: Worker | undefined;
  #isResting = false;
  #isClosed = false;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  deliver(errand: Errand): Promise<SealedDelivery> {
    if (errand.hook.config.url.startsWith('engine:')) {
      return this.#deps.own.deliver(errand);
    }
    return new Promise((resolve) => {
      this.#lastNumber += 1;
      this.#pending.set(this.#lastNumber, { errand, resolve });
      this.#post(this.#lastNumber, errand);
    });
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    // One that cannot be ended has ended.
    void this.#worker?.terminate().catch(() => undefined);
  }

  /** Errands of one turn go together. */
  #post(number: number, errand: Errand): void {
    if (this.#batch.length === 0) {
      queueMicrotask(() => this.#flush());
    }
    const occurrence = this.#numberOf(errand);
    this.#batch.push({ number, errand, ...(occurrence !== undefined && { occurrence }) });
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
      const { body } = made;
      pending?.resolve({ ...made, body: Buffer.from(body.buffer, body.byteOffset, body.length) });
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
      this.#pending.forEach(({ errand }, number) => this.#post(number, errand));
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
