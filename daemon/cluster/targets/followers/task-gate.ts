import type { Clock } from '../../../base/clock.ts';
import { notFound } from '../../../base/errors.ts';
import type { Routes } from '../forwarding/routes.ts';
import { targetLimits } from '../limits.ts';
import type { Registrations } from '../registrations/registrations.ts';
import { targetRecordId } from '../registrations/target.ts';
import type { TargetGroup } from '../groups/target-group.ts';
import type { Tables } from '../store/tables.ts';

/** A task whose service has the label of a group. */
export interface LabelledTask {
  id: string;
  /** Id of its service. */
  service: string;
  /** Name of the group. */
  group: string;
  /** Undefined = that of the group. */
  port: number | undefined;
}

export interface TaskGateDeps {
  tables: Tables;
  registrations: Registrations;
  routes: Routes;
  clock: Clock;
}

/**
 * What a task of a labelled service passes on its way in and out: it counts as running when its group takes it for
 * healthy, and it is stopped when it has drained. So an update of the service goes on with healthy tasks only.
 */
export class TaskGate {
  readonly #deps: TaskGateDeps;

  constructor(deps: TaskGateDeps) {
    this.#deps = deps;
  }

  /**
   * Registers a task that has been started. Resolves when it is healthy, or at once where nobody checks. Answers the
   * reason where it is unhealthy. Throws not_found for a group that is not there, and canceled.
   */
  async started(task: LabelledTask, signal: AbortSignal): Promise<string | undefined> {
    const group = this.#groupOf(task);
    if (group === undefined) {
      throw notFound(`there is no target group ${task.group}, which a label of the service names`);
    }
    const { tables, registrations } = this.#deps;
    const { unsuccessful } = await registrations.add(group.id, [task], task.service);
    const [refused] = unsuccessful;
    if (refused !== undefined) {
      return refused.failureMessage;
    }
    const key = targetRecordId({ ...task, group: group.id, port: task.port ?? group.config.port });
    for (;;) {
      signal.throwIfAborted();
      const isChecked = this.#groupOf(task)?.config.healthCheck?.enabled === true;
      const health = tables.health.get(key);
      const target = tables.targets.get(key);
      if (target === undefined || target.drainingMs !== undefined) {
        return 'TargetDeregistered';
      }
      if (!isChecked || health?.status === 'HEALTHY') {
        return undefined;
      }
      if (health?.status === 'UNHEALTHY') {
        return health.reasonCode ?? 'HealthCheckFailed';
      }
      await this.#pause();
    }
  }

  /** Resolves when no request of this host is under way at a task that is to be stopped, after some seconds at most. */
  async stopping(task: LabelledTask): Promise<void> {
    const group = this.#groupOf(task);
    const key = group && targetRecordId({ ...task, group: group.id, port: task.port ?? group.config.port });
    const target = key === undefined ? undefined : this.#deps.tables.targets.get(key);
    if (group === undefined || target === undefined) {
      return;
    }
    await this.#deps.registrations.drain(group.id, [task], targetLimits.taskDrainMs);
    const { clock, routes } = this.#deps;
    const start = clock.monotonicMs();
    // Other hosts learn of it a moment later.
    await this.#pause();
    while (!routes.isIdle(target) && clock.monotonicMs() < start + targetLimits.taskDrainMs) {
      await this.#pause();
    }
  }

  #groupOf({ group }: LabelledTask): TargetGroup | undefined {
    const { groups, names } = this.#deps.tables;
    return groups.get(names.get(`g/${group}`)?.id ?? '');
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      this.#deps.clock.setTimeout(resolve, targetLimits.gateLookMs);
    });
  }
}
