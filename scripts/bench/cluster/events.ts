import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { anEvent } from '../../../test/support/cluster/event.ts';
import { EventProcess } from './event-process.ts';

/** Bounds of the issue. */
const RATE = 2_000;
/** What is asked for: a little more. */
const OFFERED = 2_100;
const WATCH_MS = 200;
const LOOP_MS = 20;
const LIST_MS = 150;

const WATCHERS = 50;
const LISTED = 10_000;
const KEPT = 5_000;
/** How much more than are kept there may be for a moment. */
const SLACK = 1.1;
const BYTES_EACH = 4_096;
const ALL = '/apis/events.k8s.io/v1/events';
const OWN = '/apis/events.k8s.io/v1/namespaces/default/events';
const HEADERS = { Authorization: 'Bearer writer' };

/** Writes 2,000 events a second for a time, which 50 watches see; then lists 10,000. */
export async function measureWatches(seconds: number): Promise<string[]> {
  using server = await EventProcess.start(1_000_000);
  const client = new EventClient(server.port);
  const watches = await Promise.all(Array.from({ length: WATCHERS }, () => client.watch()));
  await server.figures();
  const count = OFFERED * seconds;
  const start = performance.now();
  const writes: Promise<void>[] = [];
  for (let made = 0; made < count;) {
    const due = Math.min(count, Math.ceil(((performance.now() - start) / 1_000) * OFFERED));
    for (; made < due; made += 1) {
      writes.push(client.create(made));
    }
    await sleep(2);
  }
  await Promise.all(writes);
  const rate = count / ((performance.now() - start) / 1_000);
  while (watches.some(({ seen }) => seen < count)) {
    await sleep(10);
  }
  const { delayMs, worstMs } = await server.figures();
  watches.forEach(({ end }) => end());
  const p99 = percentile(client.delaysMs, 0.99);
  for (let from = count; from < LISTED; from += 500) {
    await Promise.all(Array.from({ length: 500 }, (_none, index) => client.create(from + index)));
  }
  const times: number[] = [];
  for (let round = 0; round < 7; round += 1) {
    const begin = performance.now();
    await client.get(`${ALL}?limit=${LISTED}`);
    times.push(performance.now() - begin);
  }
  return [
    `${count} events written, stored and seen by ${WATCHERS} watches: ${rate.toFixed(0)} a second ` +
      `(at least ${RATE}: ${verdict(rate >= RATE)})`,
    `from the request to a watch: p50 ${percentile(client.delaysMs, 0.5).toFixed(0)} ms, ` +
      `p99 ${p99.toFixed(0)} ms (at most ${WATCH_MS} ms: ${verdict(p99 <= WATCH_MS)})`,
    `delay of the loop meanwhile: p99 ${delayMs.toFixed(1)} ms (at most ${LOOP_MS} ms: ` +
      `${verdict(delayMs <= LOOP_MS)}), longest ${worstMs.toFixed(1)} ms`,
    `a list of ${LISTED}: ${percentile(times, 0.5).toFixed(0)} ms (at most ${LIST_MS} ms: ` +
      `${verdict(percentile(times, 0.5) <= LIST_MS)})`,
  ];
}

/** Writes events as fast as they are taken, more than are kept. */
export async function measureFlood(count: number): Promise<string[]> {
  using server = await EventProcess.start(KEPT);
  const client = new EventClient(server.port);
  await server.figures();
  const start = performance.now();
  let next = 0;
  const write = async (): Promise<void> => {
    while (next < count) {
      next += 1;
      await client.create(next);
    }
  };
  await Promise.all(Array.from({ length: 64 }, write));
  const rate = count / ((performance.now() - start) / 1_000);
  const { delayMs, worstMs, events, bytes } = await server.figures();
  const isBounded = events <= KEPT * SLACK + 500 && bytes <= KEPT * BYTES_EACH * 2;
  return [
    `a flood of ${count}: ${rate.toFixed(0)} a second, ${events} are kept (of at most ${KEPT}) in ` +
      `${(bytes / 1e6).toFixed(1)} MB (${verdict(isBounded)})`,
    `delay of the loop meanwhile: p99 ${delayMs.toFixed(1)} ms (at most ${LOOP_MS} ms: ` +
      `${verdict(delayMs <= LOOP_MS)}), longest ${worstMs.toFixed(1)} ms`,
  ];
}

function verdict(isReached: boolean): string {
  return isReached ? 'reached' : 'MISSED';
}

function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Infinity;
}

interface Watch {
  seen: number;
  end: () => void;
}

class EventClient {
  /** From the request that made an event to each watch that saw it. */
  readonly delaysMs: number[] = [];
  readonly #port: number;
  readonly #agent = new http.Agent({ keepAlive: true, maxSockets: 64 });
  readonly #sentMs: number[] = [];

  constructor(port: number) {
    this.#port = port;
  }

  async create(index: number): Promise<void> {
    this.#sentMs[index] = performance.now();
    const body = JSON.stringify(anEvent(`bench-${index}`));
    const headers = {
      ...HEADERS,
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
    };
    const response = await this.#ask({ method: 'POST', path: OWN, headers, agent: this.#agent }, body);
    await drained(response);
    if (response.statusCode !== 201) {
      throw new Error(`event ${index} was answered ${response.statusCode}`);
    }
  }

  async get(path: string): Promise<void> {
    await drained(await this.#ask({ path, headers: HEADERS, agent: this.#agent }));
  }

  async watch(): Promise<Watch> {
    const headers = HEADERS;
    const response = await this.#ask({ path: `${ALL}?watch=true`, headers, agent: false });
    const watch: Watch = { seen: 0, end: () => response.destroy() };
    let rest = '';
    response.on('error', () => undefined).setEncoding('latin1');
    response.on('data', (piece: string) => {
      const nowMs = performance.now();
      const text = rest + piece;
      const end = text.lastIndexOf('\n') + 1;
      rest = text.slice(end);
      for (const [, index] of text.slice(0, end).matchAll(/"name":"bench-(\d+)"/g)) {
        watch.seen += 1;
        this.delaysMs.push(nowMs - (this.#sentMs[Number(index)] ?? nowMs));
      }
    });
    return watch;
  }

  async #ask(options: http.RequestOptions, body?: string): Promise<http.IncomingMessage> {
    return await new Promise((resolve, reject) => {
      const request = http.request({ host: '127.0.0.1', port: this.#port, ...options }, resolve);
      request.once('error', reject);
      request.end(body);
    });
  }
}

async function drained(response: http.IncomingMessage): Promise<void> {
  await new Promise((resolve, reject) => {
    response.once('end', resolve).once('error', reject).resume();
  });
}
