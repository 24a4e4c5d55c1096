import { createHash } from 'node:crypto';
import type { TaskNews, TaskStage } from '../../../../swarm/control/events/task-news.ts';
import type { Clock } from '../../../base/clock.ts';
import { limits } from '../../../base/limits.ts';
import type { Logger } from '../../../base/logger.ts';
import { occurrenceOf } from '../../../base/occurrence.ts';
import { Buckets } from '../../../cluster/events/emit/buckets.ts';
import type { Happening } from '../../../cluster/events/emit/happening.ts';
import { namespaceOf } from '../../../cluster/events/emit/namespace.ts';

interface Deps {
  clock: Clock;
  log: Logger;
}

/** Where it is told to. */
export interface Telling {
  /** Whoever can wait should. */
  readonly isBusy: boolean;
  /** Never throws. */
  tell(happening: Happening): void;
  /** Resolves when it is durable, or left out. Never rejects. */
  told(happening: Happening): Promise<void>;
}

interface Waiting {
  news: TaskNews;
  atMs: number;
}

interface Told {
  reason: string;
  action: string;
  text: string;
  part: 'scheduler' | 'dispatcher';
  isWarning?: boolean;
}

const TOLD: Readonly<Record<TaskStage, Told>> = {
  scheduled: { reason: 'Scheduled', action: 'Binding', text: 'goes to', part: 'scheduler' },
  'not-scheduled': {
    reason: 'FailedScheduling',
    action: 'Scheduling',
    text: 'waits for a node',
    part: 'scheduler',
    isWarning: true,
  },
  running: { reason: 'Started', action: 'Start', text: 'runs on', part: 'dispatcher' },
  complete: { reason: 'Completed', action: 'Exit', text: 'has ended on', part: 'dispatcher' },
  stopped: { reason: 'Killing', action: 'Stop', text: 'was stopped on', part: 'dispatcher' },
  failed: { reason: 'Failed', action: 'Exit', text: 'has failed on', part: 'dispatcher', isWarning: true },
  rejected: {
    reason: 'Rejected',
    action: 'Start',
    text: 'could not be started on',
    part: 'dispatcher',
    isWarning: true,
  },
  orphaned: {
    reason: 'Orphaned',
    action: 'Watch',
    text: 'is lost with',
    part: 'dispatcher',
    isWarning: true,
  },
};

/** One event, whichever managers tell it. Pure. */
export function taskHappening(news: TaskNews): Happening {
  const { id, name, stage, node, error, exitCode, stack, service, at } = news;
  const { reason, action, text, part, isWarning = false } = TOLD[stage];
  const namespace = namespaceOf(stack);
  const what = `${id} ${stage} ${stage === 'not-scheduled' ? (error ?? '') : ''}`;
  const place = node === undefined || stage === 'not-scheduled' ? '' : ` ${node.name}`;
  const code = stage === 'failed' && exitCode !== undefined ? ` (exit code ${exitCode})` : '';
  return {
    atNano: BigInt(at) * 1_000_000n,
    once: createHash('sha256').update(what).digest('hex').slice(0, 16),
    id: occurrenceOf('task', what),
    namespace,
    regarding: { kind: 'Task', namespace, name, uid: id, apiVersion: 'engine/v1.44' },
    related:
      node === undefined
        ? { kind: 'Service', uid: service }
        : { kind: 'Node', name: node.name, uid: node.id },
    type: isWarning ? 'Warning' : 'Normal',
    reason,
    action,
    note: `task ${name} ${text}${place}${code}${error === undefined ? '' : `: ${error}`}`,
    part,
  };
}

/**
 * Tells what becomes of tasks of a swarm to the cluster, as fast as it is stored. Of a service with very many tasks
 * some are left out. The leader tells at once, the other managers a little later what it has not told.
 */
export class TaskTeller implements Disposable {
  readonly #deps: Deps;
  readonly #buckets = new Buckets({
    burst: limits.clusterTasksBurst,
    everyMs: limits.clusterTaskEveryMs,
    remembered: limits.clusterTellersRemembered,
  });
  #emitter: Pick<Telling, 'isBusy' | 'tell'> | undefined;
  #waiting: Waiting[] = [];
  #leftOut = 0;
  #timer: Disposable | undefined;
  #isClosed = false;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** From then on it is told, what has come before too. */
  open(emitter: Pick<Telling, 'isBusy' | 'tell'>): void {
    this.#emitter = emitter;
    this.#later();
  }

  tell(news: TaskNews): void {
    const nowMs = this.#deps.clock.monotonicMs();
    const key = `${news.service} ${TOLD[news.stage].isWarning === true ? 'warnings' : ''}`;
    if (this.#isClosed || !this.#buckets.take(key, nowMs)) {
      this.#leftOut += 1;
      return;
    }
    this.#waiting.push({ news, atMs: nowMs + (news.isLeader ? 0 : limits.clusterTaskDelayMs) });
    const excess = this.#waiting.length - limits.clusterTasksWaitingMax;
    if (excess > 0) {
      this.#waiting.splice(0, excess);
      this.#leftOut += excess;
    }
    this.#later();
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#timer?.[Symbol.dispose]();
    this.#waiting = [];
  }

  #later(): void {
    if (this.#timer === undefined && this.#emitter !== undefined && this.#waiting.length > 0) {
      this.#timer = this.#deps.clock.setTimeout(() => this.#pump(), limits.clusterTellWaitMs);
    }
  }

  #pump(): void {
    this.#timer = undefined;
    const [emitter, nowMs] = [this.#emitter, this.#deps.clock.monotonicMs()];
    const later: Waiting[] = [];
    for (const each of this.#waiting) {
      if (emitter === undefined || emitter.isBusy || each.atMs > nowMs) {
        later.push(each);
      } else {
        emitter.tell(taskHappening(each.news));
      }
    }
    this.#waiting = later;
    if (this.#leftOut > 0) {
      this.#deps.log.warn({ tasks: this.#leftOut }, 'too much became of tasks to tell all of it as events');
      this.#leftOut = 0;
    }
    this.#later();
  }
}
