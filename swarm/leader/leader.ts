import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../daemon/base/clock.ts';
import { pause } from '../../daemon/base/concurrency/pause.ts';
import { errorText } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import type { ChangedPart, Cluster, ClusterCommit } from '../cluster/cluster.ts';
import { keyOf } from '../objects/keys.ts';
import { copyWith, put, type Write } from '../objects/parts.ts';
import type { Random } from '../objects/random.ts';
import { isTerminal, TaskState } from '../objects/task-state.ts';
import type { TaskStatus } from '../objects/task.ts';
import { Planner } from '../planner/planner.ts';
import { Scheduler } from '../planner/scheduler/scheduler.ts';
import { ClusterState } from '../planner/state/cluster-state.ts';
import type { Task } from '../planner/state/entries.ts';
import { observedState } from '../planner/state/observed.ts';
import { isStoreError, StoreError } from '../store/errors.ts';
import type { Fence } from '../store/port.ts';
import { Attachments } from './attachments.ts';
import { BATCH_WRITES_MAX, batchLength, type PlannedWrite } from './batches.ts';
import { asKnown } from './beyond.ts';
import { Due } from './due.ts';
import type { Leading, NodeMark, ReportedStatus } from './ports.ts';
import { Reports } from './reports.ts';

export interface LeaderDeps {
  clock: Clock;
  random: Random;
  logger: Logger;
  /** Has everything that earlier leaders have written. */
  cluster: Cluster;
  fence: Fence;
}

/**
 * A manager while it leads: plans on a picture of its own that is ahead of the store, and writes what it decided, in
 * order and in batches.
 *
 * INVARIANTS
 * - One transaction at a time. Changes that come while it is under way wait for its end: only then it is known which of
 *   them are its own.
 * - Every write has the revision that was known when it was decided on as its condition, and the fence of the election.
 *   Where the store refuses some, the planner is told what is true instead and decides again.
 * - What was reported of a task is kept until it is stored, or its task is gone.
 */
export class Leader implements Leading, AsyncDisposable {
  readonly cluster: Cluster;
  readonly state = new ClusterState();
  /** Resolves when the store takes no write of this leader any more, with the reason. */
  readonly lost: Promise<string>;
  readonly attachments: Attachments;
  readonly #deps: LeaderDeps;
  readonly #planner: Planner;
  readonly #reports = new Reports();
  readonly #marks = new Map<string, NodeMark>();
  readonly #due: Due;
  readonly #ended = new AbortController();
  readonly #subscription: Disposable;
  readonly #loop: Promise<void>;
  #lose!: (reason: string) => void;
  #isCommitting = false;
  #held: ChangedPart[] = [];
  #retryMs: number = limits.swarmStoreRetryMs;

  constructor(deps: LeaderDeps) {
    this.#deps = deps;
    this.cluster = deps.cluster;
    this.lost = new Promise((resolve) => {
      this.#lose = resolve;
    });
    this.#due = new Due(deps.clock);
    for (const { write } of deps.cluster.parts()) {
      this.state.apply(write);
    }
    const seed = Buffer.from(deps.random.bytes(4)).readUInt32BE();
    this.#planner = new Planner(this.state, deps.random, new Scheduler(seed));
    this.#planner.begin();
    this.attachments = new Attachments({
      cluster: deps.cluster,
      state: this.state,
      planner: this.#planner,
      now: () => this.#now(),
      store: (commit) => this.#storeAlone(commit),
      due: () => this.#due.request(),
    });
    this.#subscription = deps.cluster.subscribe((changed) => this.#hear(changed));
    this.#due.request();
    this.#loop = this.#run();
  }

  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  async commit(commit: Omit<ClusterCommit, 'fence'>): Promise<number> {
    try {
      return await this.cluster.commit({ ...commit, fence: this.#deps.fence });
    } catch (error) {
      if (isStoreError(error, 'fenced')) {
        this.#lose('another leader was elected');
      }
      if (error instanceof StoreError && error.stands !== undefined && (await this.#reads(error.stands))) {
        return error.stands;
      }
      throw error;
    }
  }

  /**
   * Waits for what is written until it can be read here, however late: decided without it, its addresses, ports and
   * slots would be given again. False where this leader ends before.
   */
  async #reads(revision: number): Promise<boolean> {
    while (!this.signal.aborted) {
      try {
        await this.cluster.reached(revision);
        return true;
      } catch (error) {
        if (!isStoreError(error, 'unavailable')) {
          throw error;
        }
      }
    }
    return false;
  }

  report(reported: ReportedStatus): boolean {
    const task = this.state.tasks.get(reported.id);
    if (task === undefined || this.signal.aborted || !isNews(task, reported)) {
      return false;
    }
    const at = this.#now();
    const running = task.status?.running ?? (reported.state === TaskState.running ? at : undefined);
    const status: TaskStatus = copyWith(reported, { at, ...(running === undefined ? {} : { running }) });
    const isLast = isTerminal(status.state) && task.record.desired === TaskState.remove;
    this.#reports.add(status, this.#deps.clock.monotonicMs(), isLast);
    this.#planner.observe(put('status', status));
    this.#due.request();
    return true;
  }

  statusOf(task: string): TaskStatus | undefined {
    return this.#reports.get(task);
  }

  markNode(node: string, mark: NodeMark | undefined): void {
    if (mark === undefined) {
      this.#marks.delete(node);
    } else {
      this.#marks.set(node, mark);
    }
    const stored = this.cluster.part('nodeState', node);
    if (stored !== undefined) {
      this.#observe(put('nodeState', stored));
    }
  }

  markOf(node: string): NodeMark | undefined {
    return this.#marks.get(node);
  }

  /** Decides no more. What is under way in the store may still end. */
  stop(): void {
    this.#ended.abort();
    this.#subscription[Symbol.dispose]();
    this.#due[Symbol.dispose]();
    this.attachments.end();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stop();
    await this.#loop;
  }

  /** Never rejects: a pass that failed is followed by another. */
  async #run(): Promise<void> {
    while (!this.signal.aborted) {
      await this.#due.wait();
      if (this.signal.aborted) {
        return;
      }
      try {
        await this.#pass();
        this.#retryMs = limits.swarmStoreRetryMs;
      } catch (error) {
        this.#deps.logger.warn({ error: errorText(error) }, 'decisions could not be stored, others follow');
        await pause(this.#deps.clock, this.#retryMs, this.signal);
        this.#retryMs = Math.min(this.#retryMs * 2, limits.swarmStoreRetryMaxMs);
        this.#due.request();
      }
    }
  }

  async #pass(): Promise<void> {
    const { clock, logger } = this.#deps;
    await this.attachments.decide();
    const plan = this.#planner.plan(this.#now());
    for (const { service, error } of plan.errors) {
      logger.error({ service, error }, 'a service of the swarm could not be planned');
    }
    const ripeMs = this.#reports.ripen(clock.monotonicMs());
    await this.#store(
      plan.writes.map((write) => ({ write, revision: this.cluster.revisionOf(write.part, write.id) })),
    );
    if (plan.again !== undefined) {
      this.#due.within(plan.again - this.#now());
    }
    if (ripeMs !== undefined) {
      this.#due.within(ripeMs);
    }
  }

  /** What was reported goes along with what was decided, but for statuses that were decided on as well. */
  async #store(planned: readonly PlannedWrite[]): Promise<void> {
    const decided = new Set(
      planned.filter(({ write }) => write.part === 'status').map(({ write }) => write.id),
    );
    // How many of them are stored. Copies of what is left, one for each batch, would cost more than the batches.
    let stored = 0;
    // Of parts that are written twice: the second write stands on the first.
    const own = new Map<string, number>();
    for (;;) {
      const share = stored === planned.length ? BATCH_WRITES_MAX : BATCH_WRITES_MAX / 2;
      const statuses = this.#reports.take(share, decided);
      const reported = statuses.map((status) => ({
        write: put('status', status),
        revision: this.cluster.revisionOf('status', status.id),
      }));
      const batch = [...reported, ...planned.slice(stored, stored + BATCH_WRITES_MAX)];
      const length = batchLength(batch, BATCH_WRITES_MAX);
      if (length === 0 || this.signal.aborted) {
        return;
      }
      try {
        await this.#commitBatch(batch.slice(0, length), own);
      } catch (error) {
        this.#takeBack(planned.slice(stored).map(({ write }) => write));
        throw error;
      }
      stored += Math.max(0, length - statuses.length);
    }
  }

  /** @param own The revisions that keys got by earlier batches of the same pass; these are added. */
  async #commitBatch(batch: readonly PlannedWrite[], own: Map<string, number>): Promise<void> {
    const commit = {
      parts: batch.map(({ write }) => write),
      conditions: batch.map(({ write, revision }) => {
        const key = keyOf(write.part, write.id);
        return { key, revision: own.get(key) ?? revision };
      }),
    };
    await this.#commitUntilKnown(commit, { isOpen: false }, async () => {
      failpoint('swarm.leader.commit');
      const revision = await this.#commitOwn(commit);
      for (const { part, id, value } of commit.parts) {
        own.set(keyOf(part, id), value === null ? 0 : revision);
      }
    });
  }

  /** An attachment's. Tells the planner what is true where nothing was stored, and throws. */
  async #storeAlone(commit: Omit<ClusterCommit, 'fence'>): Promise<void> {
    try {
      await this.#commitUntilKnown(commit, { isOpen: true }, async () => {
        failpoint('swarm.leader.attach');
        await this.#commitOwn(commit);
      });
    } catch (error) {
      this.#takeBack(commit.parts ?? []);
      throw error;
    }
  }

  /**
   * Until it is known what became of it: what this leader then gives to others (addresses, ports, slots) must not be
   * taken by a commit that comes to stand late.
   *
   * @param isOpen Whether to go on also where nothing was surely written yet.
   */
  async #commitUntilKnown(
    commit: Omit<ClusterCommit, 'fence'>,
    { isOpen }: { isOpen: boolean },
    act: () => Promise<void>,
  ): Promise<void> {
    let mayStand = isOpen;
    for (;;) {
      try {
        await act();
        return;
      } catch (error) {
        const isLost = isStoreError(error, 'unknown');
        mayStand ||= isLost;
        const isRepeated = mayStand && (isLost || isStoreError(error, 'unavailable'));
        if (!isRepeated || this.signal.aborted) {
          await (mayStand && isStoreError(error, 'conflict') ? this.#caughtUp(commit) : undefined);
          throw error;
        }
        await pause(this.#deps.clock, limits.swarmStoreRetryMs, this.signal);
      }
    }
  }

  /** What was changed is waited for: it may be the commit itself, whose answer was lost. */
  async #caughtUp({ conditions }: Omit<ClusterCommit, 'fence'>): Promise<void> {
    const { clock } = this.#deps;
    const endMs = clock.monotonicMs() + limits.swarmCatchUpMs;
    const isSame = (): boolean =>
      conditions.every(({ key, revision }) => (this.cluster.version(key)?.revision ?? 0) === revision);
    while (isSame() && clock.monotonicMs() < endMs && !this.signal.aborted) {
      await pause(clock, limits.swarmCatchUpStepMs, this.signal);
    }
  }

  /** What comes meanwhile is heard after it, but for what it wrote itself. */
  async #commitOwn(commit: Omit<ClusterCommit, 'fence'>): Promise<number> {
    this.#isCommitting = true;
    let own: number | undefined;
    try {
      own = await this.commit(commit);
      commit.parts?.forEach((write) => this.#settle(write));
      return own;
    } finally {
      this.#isCommitting = false;
      const held = this.#held;
      this.#held = [];
      held.filter(({ revision }) => revision !== own).forEach(({ write }) => this.#observe(write));
    }
  }

  #hear(changed: readonly ChangedPart[]): void {
    if (this.#isCommitting) {
      this.#held.push(...changed);
    } else {
      changed.forEach(({ write }) => this.#observe(write));
    }
  }

  /** What this write in the store means for what is not there yet. */
  #settle(write: Write): void {
    if (write.part === 'task' && write.value === null) {
      this.#reports.forget(write.id);
    } else if (write.part === 'status' && write.value !== null) {
      this.#reports.stored(write.value);
    }
  }

  #observe(write: Write): void {
    this.#settle(write);
    this.#planner.observe(asKnown(write, { reports: this.#reports, marks: this.#marks }));
    this.#due.request();
  }

  /** The store did not take these: what is true is told to the planner again. */
  #takeBack(writes: readonly Write[]): void {
    for (const { part, id } of writes) {
      // The value has the part's own type, which TypeScript does not follow through the union.
      this.#observe({ part, id, value: this.cluster.part(part, id) ?? null } as Write);
    }
  }

  /** Milliseconds since 1970 UTC. */
  #now(): number {
    return Number(this.#deps.clock.nowNano() / 1_000_000n);
  }
}

/** A task never goes back; in the same state only what is said of it may change, and of one that has ended nothing. */
function isNews(task: Task, reported: ReportedStatus): boolean {
  const known = observedState(task);
  if (reported.state !== known || task.status === undefined) {
    // That a node has what it was given says no more than that it was.
    return reported.state > known;
  }
  const { at: _at, running: _running, ...said } = task.status;
  return !isTerminal(known) && !isDeepStrictEqual(said, reported);
}
