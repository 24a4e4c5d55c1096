import { EngineError, notFound } from '../../../daemon/base/errors.ts';
import type { Clock } from '../../../daemon/base/clock.ts';
import type { ChangedPart, Cluster } from '../../cluster/cluster.ts';
import { newSwarmId } from '../../objects/ids.ts';
import type { Random } from '../../objects/random.ts';
import type { LogsItem, LogsRequest } from '../../protocol/logs.ts';
import type { SessionMessage } from '../../protocol/session.ts';
import { failureOf, lineOf } from './check.ts';
import type { Feed } from './feed.ts';
import { Reading } from './reading.ts';

interface Deps {
  clock: Clock;
  random: Random;
  cluster: Cluster;
  /** False where the node has no session. */
  send(node: string, message: SessionMessage): boolean;
}

/**
 * Brings lines of logs from nodes to clients: asks the nodes that have tasks in question by their sessions, and passes
 * on what they publish. A slow client makes nodes wait: little is kept here.
 */
export class LogBroker implements Disposable {
  readonly #deps: Deps;
  readonly #readings = new Set<Reading>();
  /** By the id of the subscription. */
  readonly #feeds = new Map<string, { reading: Reading; feed: Feed }>();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Ends when all that was asked for has come, or with the signal. */
  async *read(request: LogsRequest, signal: AbortSignal): AsyncGenerator<LogsItem> {
    const { clock, cluster } = this.#deps;
    const reading = new Reading({ clock, cluster, ask: (by, feed) => this.#ask(by, feed) }, request);
    const leave = (): void => reading.stop();
    signal.addEventListener('abort', leave, { once: true });
    this.#readings.add(reading);
    try {
      if (!signal.aborted) {
        reading.begin();
        yield* reading.items();
      }
    } finally {
      signal.removeEventListener('abort', leave);
      reading.stop();
      this.#readings.delete(reading);
      this.#endFeeds((of) => of === reading);
    }
  }

  /** Lines of a node for a subscription, as long as they come and are read. */
  async publish(node: string, subscription: string, values: AsyncIterator<unknown>): Promise<void> {
    const { reading, feed } = this.#feeds.get(subscription) ?? {};
    if (reading === undefined || feed === undefined || feed.node !== node || feed.state !== 'asked') {
      throw notFound(`nobody reads the logs of subscription ${subscription}`);
    }
    feed.begin();
    try {
      const problem = await this.#pass(reading, feed, values);
      this.#feeds.delete(subscription);
      reading.finished(feed, problem);
    } catch (error) {
      this.#feeds.delete(subscription);
      reading.lost(feed, `node ${node} disconnected unexpectedly`);
      throw error;
    }
  }

  /** A node has a session. */
  resume(node: string): void {
    this.#readings.forEach((reading) => reading.resume(node));
  }

  hear({ write }: ChangedPart): void {
    if (this.#readings.size === 0 || (write.part !== 'task' && write.part !== 'service')) {
      return;
    }
    const task = write.part === 'task' ? this.#deps.cluster.state.tasks.get(write.id) : undefined;
    for (const reading of this.#readings) {
      if (task !== undefined) {
        reading.notice(task);
      } else if (write.value === null) {
        reading.noticeRemoval();
      }
    }
  }

  [Symbol.dispose](): void {
    this.#readings.forEach((reading) => reading.abort('the leader of the swarm has changed'));
  }

  /** What the node said last of what is missing. */
  async #pass(reading: Reading, feed: Feed, values: AsyncIterator<unknown>): Promise<string | undefined> {
    for (let next = await values.next(); next.done !== true; next = await values.next()) {
      const problem = failureOf(next.value);
      if (problem !== undefined) {
        return problem;
      }
      const line = lineOf(next.value);
      if (!feed.tasks.includes(line.task)) {
        throw new EngineError('forbidden', 'a node sends lines of its own tasks that were asked for');
      }
      if (!(await reading.take(feed, line))) {
        throw new EngineError('canceled', 'nobody reads these logs any more');
      }
    }
    return undefined;
  }

  #ask(reading: Reading, feed: Feed): boolean {
    this.#endFeeds((_reading, of) => of === feed);
    const id = newSwarmId(this.#deps.random);
    const subscription = feed.ask(id, () => {
      this.#endFeeds((_reading, of) => of === feed);
      reading.lost(feed, `node ${feed.node} is not available`);
    });
    const isSent = this.#deps.send(feed.node, { kind: 'logs', subscription });
    if (isSent) {
      this.#feeds.set(id, { reading, feed });
    }
    return isSent;
  }

  /** Tells the nodes that nobody reads these any more. */
  #endFeeds(isMeant: (reading: Reading, feed: Feed) => boolean): void {
    for (const [id, { reading, feed }] of this.#feeds) {
      if (isMeant(reading, feed)) {
        this.#feeds.delete(id);
        this.#deps.send(feed.node, { kind: 'endLogs', id });
      }
    }
  }
}
