import type { Clock } from '../../daemon/base/clock.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import { repeatWhile } from '../membership/manager/repeat.ts';
import type { PartName } from '../objects/parts.ts';
import { TaskState } from '../objects/task-state.ts';
import { isJob, modeOf } from '../planner/service-mode.ts';
import type { Service } from '../planner/state/entries.ts';
import type { LeaderLoop, Leading } from './ports.ts';

/** How far the tasks of a service are what its specification says. */
export interface Rollout {
  /** Id of the service. */
  service: string;
  name: string;
  /** As in its specification: `host/owner/name:tag@sha256:...`. */
  image: string;
  /** Counts what a service was told to run. An earlier one comes back by a rollback. */
  template: number;
  /** The specification was come back to. */
  isRollback: boolean;
  state: RolloutState;
  /** Why it is so; '' = nothing is told. */
  message: string;
}

export type RolloutState = 'pending' | 'in_progress' | 'success' | 'failure';

/** Who wants to know of rollouts. */
export interface RolloutPort {
  /** Whether services of this image are to be told of. */
  wants(image: string): boolean;
  /** All that are wanted, as they are. Told again and again, also by the next leader: what is known is no news. */
  tell(rollouts: readonly Rollout[]): Promise<void>;
}

interface Deps {
  clock: Clock;
  logger: Logger;
  rollouts: RolloutPort;
}

const PARTS: ReadonlySet<PartName> = new Set(['service', 'serviceRun', 'task', 'status']);

/** Tells of rollouts while this manager leads: with several managers each is told by one. */
export function rolloutsLoop({ clock, logger, rollouts }: Deps): LeaderLoop {
  return {
    start: (leading) =>
      repeatWhile(
        { clock, logger, what: 'deployments', sweepMs: limits.swarmRolloutLookMs },
        (wake) =>
          leading.cluster.subscribe((changed) => {
            if (changed.some(({ write: { part } }) => PARTS.has(part))) {
              wake();
            }
          }),
        async () => {
          failpoint('swarm.rollouts.tell');
          await rollouts.tell(rolloutsOf(leading, rollouts));
        },
      ),
  };
}

function rolloutsOf({ cluster }: Leading, port: RolloutPort): Rollout[] {
  return [...cluster.state.services.values()].flatMap((service) => {
    const image = service.record?.spec.TaskTemplate?.ContainerSpec?.Image ?? '';
    return (port.wants(image) && rolloutOf(service)) || [];
  });
}

/** Undefined for what is removed, and for jobs, which end. Pure. */
export function rolloutOf(service: Service): Rollout | undefined {
  const { id, record } = service;
  if (record === undefined || isJob(modeOf(record.spec))) {
    return undefined;
  }
  const { spec, template, rollback } = record;
  const update = service.run?.update?.template === template ? service.run.update : undefined;
  return {
    service: id,
    name: spec.Name ?? '',
    image: spec.TaskTemplate?.ContainerSpec?.Image ?? '',
    template,
    isRollback: rollback !== undefined,
    state: update === undefined ? stateOfTasks(service, template) : UPDATES[update.state],
    message: update?.message ?? '',
  };
}

const UPDATES = {
  updating: 'in_progress',
  paused: 'failure',
  completed: 'success',
  rollback_started: 'in_progress',
  rollback_paused: 'failure',
  rollback_completed: 'success',
} as const;

/** Of a service that was made, or whose update has not begun. */
function stateOfTasks({ record, tasks }: Service, template: number): RolloutState {
  const mode = record && modeOf(record.spec);
  const wanted = [...tasks].filter(({ record: { desired } }) => desired <= TaskState.running);
  const ofTemplate = wanted.filter((task) => task.record.template === template);
  const running = ofTemplate.filter(({ status }) => status?.state === TaskState.running);
  const isWhole =
    running.length === wanted.length &&
    (mode?.kind === 'replicated' ? running.length >= mode.replicas : running.length > 0);
  if (isWhole) {
    return 'success';
  }
  return ofTemplate.length > 0 ? 'in_progress' : 'pending';
}
