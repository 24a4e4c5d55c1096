import type { ClusterTargetsPort } from '../../../api/types/cluster/targets.ts';
import type { EnginePorts } from '../../../api/types/ports.ts';
import type { Clock } from '../../base/clock.ts';
import { errorText, isEngineError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { HealthNews } from '../../cluster/targets/health/checker.ts';
import { websiteStatus } from '../../cluster/targets/health/website-status.ts';
import type { TaskGate } from '../../cluster/targets/followers/task-gate.ts';
import { AccessKeys } from '../../cluster/targets/signing/access-keys.ts';
import { TargetGroups, type TargetGroupsDeps } from '../../cluster/targets/target-groups.ts';
import { Mirror } from '../../hub/records/mirror.ts';
import type { ClusterStores } from './cluster-place.ts';
import { EngineFunctions } from './function-runs.ts';
import { SwarmTasks } from './labelled-tasks.ts';
import { EnginePlaces } from './engine-places.ts';

export interface OpenTargets extends AsyncDisposable {
  port: ClusterTargetsPort;
  gate: TaskGate;
  websiteStatus(websites: readonly string[]): 'up' | 'down' | undefined;
}

interface Deps {
  engine: Pick<EnginePorts, 'containers' | 'networks' | 'swarm'>;
  onHealth(news: HealthNews): void;
  /** Of listeners of HTTPS. */
  certificate: TargetGroupsDeps['certificate'];
  clock: Clock;
  log: Logger;
}

/** Target groups over the records of one place. In a swarm one of its managers checks for all. */
export async function openTargets({ records, swarm }: ClusterStores, deps: Deps): Promise<OpenTargets> {
  const { engine, clock, log } = deps;
  const store = await Mirror.open({ records, clock, log }, 'target');
  const turn = swarm === undefined ? undefined : new Turn(swarm.place, log);
  const targets = new TargetGroups({
    store,
    places: new EnginePlaces(engine),
    functions: new EngineFunctions(engine.containers, log),
    tasks: new SwarmTasks(engine.swarm),
    isOurs: () => turn?.isOurs ?? true,
    hasPeers: () => turn !== undefined,
    onHealth: (news) => deps.onHealth(news),
    listenHost: undefined,
    certificate: deps.certificate,
    clock,
    log,
  });
  await targets.start();
  return {
    gate: targets.gate,
    websiteStatus: (websites) => websiteStatus(targets.tables, websites),
    port: {
      operations: targets.operations,
      certificates: targets.certificates,
      keys: new AccessKeys({ store, clock }),
    },
    [Symbol.asyncDispose]: async () => {
      await turn?.[Symbol.asyncDispose]();
      await targets[Symbol.asyncDispose]();
      store[Symbol.dispose]();
    },
  };
}

/** Whether this manager is the one that checks: elected again when another one has lost it. */
class Turn implements AsyncDisposable {
  readonly #place: NonNullable<ClusterStores['swarm']>['place'];
  readonly #log: Logger;
  readonly #ended = new AbortController();
  readonly #over: Promise<void>;
  isOurs = false;

  constructor(place: NonNullable<ClusterStores['swarm']>['place'], log: Logger) {
    this.#place = place;
    this.#log = log;
    this.#over = this.#stand();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort();
    await this.#over;
  }

  async #stand(): Promise<void> {
    const { signal } = this.#ended;
    while (!signal.aborted) {
      try {
        const led = await this.#place.lead('targets', signal);
        this.isOurs = true;
        this.#log.info('this manager checks targets from now on');
        const ended = new Promise((resolve) => {
          signal.addEventListener('abort', resolve, { once: true });
        });
        await Promise.race([led.lost, ended]);
        this.isOurs = false;
        if (signal.aborted) {
          await led.resign();
        }
      } catch (error) {
        this.isOurs = false;
        if (!isEngineError(error, 'canceled')) {
          this.#log.warn({ reason: errorText(error) }, 'nobody could be elected to check targets');
        }
        await new Promise((resolve) => {
          setTimeout(resolve, 1_000).unref();
        });
      }
    }
  }
}
