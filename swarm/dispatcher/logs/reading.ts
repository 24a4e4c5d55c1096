import { limits } from '../../../daemon/base/limits.ts';
import type { Clock } from '../../../daemon/base/clock.ts';
import type { Cluster } from '../../cluster/cluster.ts';
import type { Task } from '../../planner/state/entries.ts';
import { addTo } from '../../planner/state/multi-map.ts';
import type { LogsItem, LogsRequest } from '../../protocol/logs.ts';
import type { LogLine, LogSubscription } from '../../protocol/session.ts';
import { Feed } from './feed.ts';
import { LineQueue } from './line-queue.ts';

interface Deps {
  clock: Clock;
  cluster: Cluster;
  /** Sends the subscription to its node under a new id; false where the node has no session. */
  ask(reading: Reading, feed: Feed): boolean;
}

/** What a line takes beside its text. */
const LINE_OVERHEAD_BYTES = 256;
const INCOMPLETE =
  'warning: incomplete log stream. some logs could not be retrieved for the following reasons: ';

/** One client's reading of logs: what it asked for, from which nodes that comes, and what comes. */
export class Reading {
  readonly #deps: Deps;
  readonly #request: LogsRequest;
  readonly #queue = new LineQueue<LogsItem>(limits.swarmLogsBytesMax);
  /** Tasks that were asked for, with their services. */
  readonly #tasks = new Map<string, string>();
  readonly #feeds = new Set<Feed>();
  readonly #problems = new Set<string>();
  #isOver = false;

  constructor(deps: Deps, request: LogsRequest) {
    this.#deps = deps;
    this.#request = request;
  }

  /** Asks all nodes that have something. */
  begin(): void {
    const { cluster } = this.#deps;
    const { services, tasks, follow } = this.#request;
    const wanted = new Set<Task>(services.flatMap((id) => [...cluster.state.tasksOf(id)]));
    for (const id of tasks) {
      const task = cluster.state.tasks.get(id);
      if (task !== undefined) {
        wanted.add(task);
      }
    }
    const byNode = new Map<string, Set<Task>>();
    for (const task of wanted) {
      if (task.record.node !== undefined) {
        addTo(byNode, task.record.node, task);
      } else if (!follow) {
        this.#problems.add(`task ${task.id} has not been scheduled`);
      }
    }
    byNode.forEach((of, node) => this.#open(node, [...of], this.#request));
    this.#look();
  }

  /** A task has appeared, or was assigned: with `follow` it is read too, from its beginning. */
  notice(task: Task): void {
    const { services, tasks, follow } = this.#request;
    const { node, service } = task.record;
    const isMeant = services.includes(service) || tasks.includes(task.id);
    if (follow && isMeant && node !== undefined && !this.#tasks.has(task.id)) {
      const { tail: _tail, ...whole } = this.#request;
      this.#open(node, [task], whole);
    }
  }

  /** A service or a task is no more: with `follow` there may be nothing to wait for. */
  noticeRemoval(): void {
    this.#look();
  }

  /** A node has a session again: what it did not send is asked for once more. */
  resume(node: string): void {
    for (const feed of this.#feeds) {
      if (feed.node === node && (feed.state === 'asked' || (feed.state === 'away' && this.#request.follow))) {
        this.#ask(feed);
      }
    }
  }

  /** False where the client has gone. The line's task is one of the feed's. */
  async take(feed: Feed, line: LogLine): Promise<boolean> {
    feed.took(line);
    const service = this.#tasks.get(line.task) ?? '';
    return this.#queue.push(
      { kind: 'line', line, node: feed.node, service },
      line.line.length + LINE_OVERHEAD_BYTES,
    );
  }

  /** The node has sent what it had; `problem`: but for this. */
  finished(feed: Feed, problem?: string): void {
    feed.end('done', problem);
    this.#look();
  }

  /** The node was cut off. */
  lost(feed: Feed, problem: string): void {
    feed.end('away', problem);
    this.#look();
  }

  /** No more can come, for this reason. */
  abort(problem: string): void {
    this.#problems.add(problem);
    this.#end();
  }

  async *items(): AsyncGenerator<LogsItem> {
    yield* this.#queue.values();
    const problems = new Set([
      ...this.#problems,
      ...[...this.#feeds].flatMap(({ problem }) => problem ?? []),
    ]);
    if (this.#isOver && problems.size > 0) {
      yield { kind: 'warning', text: `${INCOMPLETE}${[...problems].join(', ')}` };
    }
  }

  /** The client has gone, or has everything. */
  stop(): void {
    this.#queue.stop();
    this.#feeds.forEach((feed) => feed.end('done', feed.problem));
  }

  #open(node: string, tasks: readonly Task[], request: Omit<LogsRequest, 'services' | 'tasks'>): void {
    const { follow, stdout, stderr, since, until, tail } = request;
    const wanted: Omit<LogSubscription, 'id' | 'tasks'> = {
      follow,
      stdout,
      stderr,
      ...(since === undefined ? {} : { since }),
      ...(until === undefined ? {} : { until }),
      ...(tail === undefined ? {} : { tail }),
    };
    tasks.forEach(({ id, record }) => this.#tasks.set(id, record.service));
    const { clock } = this.#deps;
    const feed = new Feed({ clock, node, tasks: tasks.map(({ id }) => id), wanted });
    this.#feeds.add(feed);
    this.#ask(feed);
  }

  #ask(feed: Feed): void {
    if (!this.#deps.ask(this, feed)) {
      feed.end('away', `node ${feed.node} is not available`);
    }
  }

  #look(): void {
    const { follow, services, tasks } = this.#request;
    const { state } = this.#deps.cluster;
    const isUnderWay = [...this.#feeds].some(
      (feed) => feed.state === 'asked' || feed.state === 'running' || (follow && feed.state === 'away'),
    );
    const mayGoOn =
      services.some((id) => state.services.has(id)) ||
      tasks.some((id) => state.tasks.has(id) && !this.#tasks.has(id));
    if (!isUnderWay && !(follow && mayGoOn)) {
      this.#end();
    }
  }

  #end(): void {
    this.#isOver = true;
    this.#queue.close();
  }
}
