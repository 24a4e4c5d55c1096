import { failpoint } from '../../base/failpoint.ts';
import { limits } from '../../base/limits.ts';
import { tellMeasured } from '../../base/measured.ts';
import { formatNano } from '../../base/clock.ts';
import type { Container } from '../state/container.ts';
import { withTimeout } from '../../base/concurrency/timeout.ts';
import { containerEvent } from '../state/events.ts';
import { toTimerMs } from './check.ts';
import type { HealthCheck } from './check.ts';
import { healthAfter, pauseBeforeProbe } from './health.ts';
import type { ProbeResult } from './health.ts';
import { Probe } from './probe.ts';
import type { ProbeDeps } from './probe.ts';

const NANOS_PER_MS = 1e6;

/**
 * Probes one container while it runs: pause, probe, verdict, pause. One probe at a time; one that has been killed and
 * does not end keeps the next from starting, and each round it does so counts as a failure.
 */
export class HealthMonitor {
  readonly #deps: ProbeDeps;
  readonly #container: Container;
  readonly #check: HealthCheck;
  #probe: Probe | undefined;
  #over: Promise<void>;
  #timer: Disposable | undefined;
  #isStopped = false;

  /** `before` resolves when no probe of an earlier monitor of this container is left. */
  constructor(deps: ProbeDeps, container: Container, check: HealthCheck, before: Promise<void>) {
    this.#deps = deps;
    this.#container = container;
    this.#check = check;
    this.#over = before;
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Resolves when no probe is left that was begun up to now. */
  get over(): Promise<void> {
    return this.#over;
  }

  /** The pause until the next probe, in nanoseconds. */
  get pauseNano(): number {
    const { state } = this.#container;
    return state.status === 'running' && state.health
      ? pauseBeforeProbe(this.#check, state.health, this.#upNano())
      : this.#check.intervalNano;
  }

  /** Waits so long, then probes on and on. */
  begin(pauseNano: number): void {
    const { clock, log } = this.#deps.context;
    this.#timer = clock.setTimeout(() => {
      void this.#round()
        .finally(() => {
          if (!this.#isStopped) {
            this.begin(this.pauseNano);
          }
        })
        .catch((error: unknown) => {
          log.error({ container: this.#container.id, err: error }, 'a health check could not be recorded');
        });
    }, toTimerMs(pauseNano));
  }

  /** The container does not run any more, or not for now. */
  stop(): void {
    this.#isStopped = true;
    this.#timer?.[Symbol.dispose]();
    this.#probe?.cancel();
  }

  async #round(): Promise<void> {
    const upNano = this.#upNano();
    const isFree = await withTimeout(this.#deps.context.clock, this.#over, limits.killWaitMs);
    if (this.#isStopped) {
      return;
    }
    const result = isFree ? await this.#run() : this.#stuck();
    if (!this.#isStopped && result !== undefined) {
      // As with dockerd: one that ended and found the container ill has not failed itself.
      tellMeasured('health', 'probe', result.exitCode < 0 ? result.output : undefined);
      this.#record(result, upNano);
    }
  }

  async #run(): Promise<ProbeResult | undefined> {
    this.#probe = new Probe(this.#deps, this.#container, this.#check);
    this.#over = this.#probe.over;
    const result = await this.#probe.result;
    this.#probe = undefined;
    return result;
  }

  #stuck(): ProbeResult {
    const now = formatNano(this.#deps.context.clock.nowNano());
    return {
      start: now,
      end: now,
      exitCode: -1,
      output: 'The health check before was killed and has not ended',
    };
  }

  #record(result: ProbeResult, upNano: number): void {
    const container = this.#container;
    if (container.state.status !== 'running' || !container.state.health) {
      return;
    }
    const before = container.state.health;
    const health = healthAfter(before, this.#check, result, upNano);
    const drafts =
      health.status === before.status ? [] : [containerEvent(container, `health_status: ${health.status}`)];
    failpoint('health.probe.record');
    this.#deps.context.machine.note(container, { type: 'probed', health }, drafts);
  }

  #upNano(): number {
    const { startedAtMs } = this.#container;
    const nowMs = this.#deps.context.clock.monotonicMs();
    return (nowMs - (startedAtMs ?? nowMs)) * NANOS_PER_MS;
  }
}
