import type { Clock } from '../../../base/clock.ts';
import { errorText } from '../../../base/errors.ts';
import { failpoint } from '../../../base/failpoint.ts';
import type { Logger } from '../../../base/logger.ts';
import type { HealthCheck, TargetGroup } from '../groups/target-group.ts';
import { targetLimits } from '../limits.ts';
import { targetRecordId, type Target, type TargetHealth } from '../registrations/target.ts';
import type { TargetStore } from '../store/port.ts';
import type { Tables } from '../store/tables.ts';
import type { KnownPlaces } from './places.ts';
import type { Probe, ProbeRequest, ProbeResult } from './probe.ts';
import { nextVerdict, type Verdict } from './verdict.ts';

/** What became of a target, for those who tell it on. */
export interface HealthNews {
  group: TargetGroup;
  target: Target;
  health: TargetHealth;
}

export interface CheckerDeps {
  store: TargetStore;
  tables: Tables;
  places: KnownPlaces;
  /** Whether this host checks: one manager of a swarm does. */
  isOurs(): boolean;
  probe(request: ProbeRequest, done: (result: ProbeResult) => void): Probe;
  /** Told after it is written down. */
  onChange(news: HealthNews): void;
  clock: Clock;
  log: Logger;
  /** From 0 to below 1: spreads checks of targets that came together. */
  random(): number;
}

/** A target that is checked. */
interface Checked {
  key: string;
  group: TargetGroup;
  check: HealthCheck;
  target: Target;
  verdict: Verdict;
  /** On the monotonic clock: when the next check begins. */
  dueMs: number;
  isSpread: boolean;
  running: { probe: Probe; untilMs: number } | undefined;
}

/**
 * Checks targets at their intervals and writes down when a status changes. One look at all of them in
 * `checkTickMs` begins what is due and ends what takes too long, so that a check costs no timers.
 */
export class HealthChecker implements Disposable {
  readonly #deps: CheckerDeps;
  readonly #checked = new Map<string, Checked>();
  /** Statuses that are not written down yet, by target. */
  readonly #unwritten = new Map<string, TargetHealth>();
  #running = 0;
  #seen = -1;
  #isWriting = false;
  #timer: Disposable | undefined;

  constructor(deps: CheckerDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#look();
    this.#timer = this.#deps.clock.setTimeout(() => this.start(), targetLimits.checkTickMs);
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
    this.#forgetAll();
  }

  #look(): void {
    if (!this.#deps.isOurs()) {
      this.#forgetAll();
      this.#seen = -1;
      return;
    }
    if (this.#seen !== this.#deps.store.revision) {
      this.#seen = this.#deps.store.revision;
      this.#take();
    }
    const nowMs = this.#deps.clock.monotonicMs();
    const due: Checked[] = [];
    for (const one of this.#checked.values()) {
      if (one.running === undefined) {
        if (nowMs >= one.dueMs) {
          due.push(one);
        }
      } else if (nowMs >= one.running.untilMs) {
        one.running.probe.expire();
      }
    }
    this.#beginAll(due, nowMs);
    this.#write();
  }

  /** As many as may run: where these are not all, those that have waited longest. */
  #beginAll(due: Checked[], nowMs: number): void {
    const room = targetLimits.checksAtOnce - this.#running;
    if (due.length > room) {
      due.sort((a, b) => a.dueMs - b.dueMs);
    }
    due.slice(0, Math.max(0, room)).forEach((one) => this.#begin(one, nowMs));
  }

  /** Takes in which targets there are, and how they are to be checked. */
  #take(): void {
    const { tables, clock } = this.#deps;
    const left = new Set(this.#checked.keys());
    for (const group of tables.groups.below()) {
      const check = group.config.healthCheck;
      if (group.status !== 'ACTIVE' || check?.enabled !== true) {
        continue;
      }
      for (const target of tables.targets.below(`${group.id}/`)) {
        if (target.drainingMs !== undefined) {
          continue;
        }
        const key = targetRecordId(target);
        left.delete(key);
        const known = this.#checked.get(key);
        if (known?.target.registeredMs === target.registeredMs) {
          Object.assign(known, { group, check, target });
          continue;
        }
        if (known !== undefined) {
          this.#forget(known);
        }
        this.#checked.set(key, {
          key,
          group,
          check,
          target,
          verdict: { status: tables.health.get(key)?.status, inARow: 0 },
          dueMs: clock.monotonicMs(),
          isSpread: false,
          running: undefined,
        });
      }
    }
    for (const key of left) {
      this.#forget(this.#checked.get(key));
    }
  }

  #begin(one: Checked, nowMs: number): void {
    const intervalMs = one.check.healthCheckIntervalSeconds * 1000;
    // Targets that were registered by one request are not checked at the same moment for ever.
    one.dueMs = nowMs + (one.isSpread ? intervalMs : intervalMs * (0.5 + this.#deps.random() / 2));
    one.isSpread = true;
    const place = this.#deps.places.of(one.group, one.target);
    if (place === undefined) {
      this.#judge(one, 'TargetNotFound');
      return;
    }
    this.#running += 1;
    const request = { check: one.check, host: place.host, port: one.check.port ?? place.port };
    const running = {
      probe: this.#deps.probe(request, (result) => {
        this.#running -= 1;
        // A target that was forgotten meanwhile, or came back, has another run.
        if (one.running === running && this.#checked.get(one.key) === one) {
          one.running = undefined;
          this.#judge(one, result);
        }
      }),
      untilMs: nowMs + one.check.healthCheckTimeoutSeconds * 1000,
    };
    one.running = running;
  }

  #judge(one: Checked, reasonCode: string | undefined): void {
    const before = one.verdict.status;
    one.verdict = nextVerdict(one.verdict, reasonCode === undefined, one.check);
    const { status } = one.verdict;
    if (status !== undefined && status !== before) {
      this.#unwritten.set(one.key, {
        status,
        ...(status === 'UNHEALTHY' && reasonCode !== undefined && { reasonCode }),
        sinceMs: Number(this.#deps.clock.nowNano() / 1_000_000n),
      });
    }
  }

  /** Writes what has changed. What cannot be written waits for the next look. */
  #write(): void {
    if (this.#unwritten.size === 0 || this.#isWriting) {
      return;
    }
    this.#isWriting = true;
    const batch = [...this.#unwritten].slice(0, targetLimits.changesAtOnce);
    const write = async (): Promise<void> => {
      failpoint('targets.health.write');
      const written = await this.#deps.store.change(() => this.#decided(batch));
      for (const [key, health] of batch) {
        if (this.#unwritten.get(key) === health) {
          this.#unwritten.delete(key);
        }
      }
      written.forEach((news) => this.#deps.onChange(news));
    };
    write()
      .catch((error: unknown) => {
        this.#deps.log.warn({ reason: errorText(error) }, 'the health of targets was not written');
      })
      .finally(() => {
        this.#isWriting = false;
      });
  }

  #decided(batch: readonly (readonly [string, TargetHealth])[]) {
    const { tables } = this.#deps;
    const answer: HealthNews[] = [];
    const changes = batch.flatMap(([key, health]) => {
      const target = tables.targets.get(key);
      const group = target && tables.groups.get(target.group);
      if (target === undefined || group === undefined) {
        return [];
      }
      answer.push({ group, target, health });
      return [tables.health.put(key, health)];
    });
    return { changes, answer };
  }

  #forgetAll(): void {
    [...this.#checked.values()].forEach((one) => this.#forget(one));
    this.#unwritten.clear();
  }

  #forget(one: Checked | undefined): void {
    if (one !== undefined) {
      this.#checked.delete(one.key);
      one.running?.probe.expire();
    }
  }
}
