import { limits } from '../../base/limits.ts';
import { Semaphore } from '../../base/concurrency/semaphore.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { healthCheckOf } from './check.ts';
import type { HealthCheck } from './check.ts';
import { spread } from './health.ts';
import { HealthMonitor } from './health-monitor.ts';

/**
 * Keeps a monitor for each container that runs and has a health check. The machine tells it of every change, so that
 * probes stop at a pause or an end and begin with a start, whatever caused it.
 */
export class HealthMonitors {
  readonly #context: ContainerContext;
  readonly #launches = new Semaphore(limits.healthLaunchConcurrency);
  readonly #byId = new Map<string, HealthMonitor>();
  #isClosed = false;

  constructor(context: ContainerContext) {
    this.#context = context;
  }

  /** The container has changed. */
  follow(container: Container): void {
    const check = wantedCheck(container);
    const monitor = this.#byId.get(container.id);
    if (check === undefined) {
      if (monitor?.isStopped === false) {
        this.#stop(container, monitor);
      }
    } else if (monitor?.isStopped !== false && !this.#isClosed) {
      const next = this.#open(container, check, monitor);
      next.begin(next.pauseNano);
    }
  }

  /** After a start of the daemon: the containers that run on. Their probes are spread over one interval. */
  resume(containers: readonly Container[]): void {
    for (const container of containers) {
      const check = wantedCheck(container);
      if (check !== undefined && !this.#byId.has(container.id)) {
        const monitor = this.#open(container, check, undefined);
        monitor.begin(spread(monitor.pauseNano, container.id));
      }
    }
  }

  /** Ends all probes: the next daemon begins its own. */
  close(): void {
    this.#isClosed = true;
    this.#byId.forEach((monitor) => monitor.stop());
    this.#byId.clear();
  }

  #open(container: Container, check: HealthCheck, before: HealthMonitor | undefined): HealthMonitor {
    const deps = { context: this.#context, launches: this.#launches };
    const monitor = new HealthMonitor(deps, container, check, before?.over ?? Promise.resolve());
    this.#byId.set(container.id, monitor);
    return monitor;
  }

  /** Remembered until its last probe is over, which a monitor after it has to wait for. */
  #stop({ id }: Container, monitor: HealthMonitor): void {
    monitor.stop();
    void this.#forgetAfter(id, monitor).catch((error: unknown) => {
      this.#context.log.error({ container: id, err: error }, 'the end of a health check was not seen');
    });
  }

  async #forgetAfter(id: string, monitor: HealthMonitor): Promise<void> {
    await monitor.over;
    if (this.#byId.get(id) === monitor) {
      this.#byId.delete(id);
    }
  }
}

/** The check to be run now. */
function wantedCheck({ state, spec }: Container): HealthCheck | undefined {
  return state.status === 'running' && spec.config.Healthcheck && state.health
    ? healthCheckOf(spec.config)
    : undefined;
}
