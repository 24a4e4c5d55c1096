/** Entry of the thread that makes deliveries: takes errands from courier-thread.ts in batches, and answers so. */
import { getPriority, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../../base/clock.ts';
import { invariant } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import type { Occurrence } from '../../occurrences/occurrence.ts';
import { Addresses } from '../../views/addresses.ts';
import { parseAllowedHosts } from '../allowed-hosts.ts';
import { OwnCourier } from '../attempt.ts';
import type { Errand } from '../courier.ts';
import { HttpSender } from '../sender.ts';
import type { ErrandBatch, KnownErrand, MadeBatch, NumberedErrands, ThreadFacts } from './protocol.ts';

const port = parentPort;
invariant(port !== null, 'delivery-worker.ts runs in a worker thread only');

/** More than the daemon has: the threads that answer requests go first. */
const NICENESS_MORE = 5;
const NICENESS_MAX = 19;
// Of this thread alone (setpriority(2), notes).
setPriority(0, Math.min(getPriority(0) + NICENESS_MORE, NICENESS_MAX));

// Given by courier-thread.ts.
const facts = workerData as ThreadFacts;
const courier = new OwnCourier({
  clock: systemClock,
  sender: new HttpSender(parseAllowedHosts(facts.allowedHosts)),
  services: undefined,
  addresses: new Addresses(facts.baseUrl),
  facts,
});
/** By number, the newest last. */
const occurrences = new Map<number, Occurrence>();
let made: MadeBatch[number][] = [];

port.on('message', (batch: ErrandBatch) => {
  for (const errands of batch) {
    void run(errands).catch((error: unknown) => {
      // The thread ends by it, and the next one makes what this one had under way.
      queueMicrotask(() => {
        throw error;
      });
    });
  }
});

async function run({ number, errands }: NumberedErrands): Promise<void> {
  const deliveries = await courier.deliver(errands.map(withKnownOccurrence));
  if (made.length === 0) {
    setImmediate(answer);
  }
  made.push({
    number,
    made: deliveries.map((delivery) => ({ ...delivery, body: ownBytes(delivery.body) })),
  });
}

function answer(): void {
  const batch: MadeBatch = made;
  made = [];
  // `ownBytes` has made them.
  const memory = batch.flatMap((each) => each.made.map(({ body }) => body.buffer as ArrayBuffer));
  port?.postMessage(batch, memory);
}

/** Payloads are known by the occurrence that they are made of: the copy that came first. */
function withKnownOccurrence({ errand, occurrence: number }: KnownErrand): Errand {
  const { intent } = errand;
  if (number === undefined || intent.news.kind !== 'occurrence') {
    return errand;
  }
  const occurrence = occurrences.get(number) ?? intent.news.occurrence;
  occurrences.set(number, occurrence);
  const [oldest] = occurrences.keys();
  if (occurrences.size > limits.hubOccurrencesKnown && oldest !== undefined) {
    occurrences.delete(oldest);
  }
  return { ...errand, intent: { ...intent, news: { kind: 'occurrence', occurrence } } };
}

/** In memory that holds nothing else, to be handed over. */
function ownBytes(bytes: Buffer): Uint8Array {
  return new Uint8Array(bytes);
}
