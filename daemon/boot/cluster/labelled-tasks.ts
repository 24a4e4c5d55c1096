import type { SwarmPort } from '../../../api/types/swarm/ports.ts';
import { isEngineError } from '../../base/errors.ts';
import type { LabelledTasks } from '../../cluster/targets/followers/task-follower.ts';
import type { LabelledTask } from '../../cluster/targets/followers/task-gate.ts';
import { GROUP_LABEL, labelledTask } from './gated-executor.ts';

const ENDED = new Set(['complete', 'shutdown', 'failed', 'rejected', 'remove', 'orphaned']);

/** Tasks of services with the label of a target group, as the managers know them. */
export class SwarmTasks implements LabelledTasks {
  readonly #swarm: Pick<SwarmPort, 'role' | 'services' | 'tasks'>;

  constructor(swarm: Pick<SwarmPort, 'role' | 'services' | 'tasks'>) {
    this.#swarm = swarm;
  }

  async list(): Promise<(LabelledTask & { isRunning: boolean })[] | undefined> {
    if (this.#swarm.role !== 'active/manager') {
      return this.#swarm.role === 'inactive' ? [] : undefined;
    }
    try {
      const labelled = await this.#swarm.services.list(new Map([['label', [GROUP_LABEL]]]), {
        status: false,
      });
      const services = new Map(labelled.map(({ ID, Spec }) => [ID, Spec.Labels ?? {}]));
      if (services.size === 0) {
        return [];
      }
      const tasks = await this.#swarm.tasks.list(new Map([['service', [...services.keys()]]]));
      return tasks.flatMap(({ ID, ServiceID, Status, DesiredState }) => {
        const id = ServiceID ?? '';
        const task = labelledTask(ID, { id, labels: services.get(id) ?? {} });
        const isMeant = DesiredState === 'running' && !ENDED.has(Status.State);
        return task === undefined || !isMeant ? [] : [{ ...task, isRunning: Status.State === 'running' }];
      });
    } catch (error) {
      if (isEngineError(error, 'unavailable')) {
        return undefined;
      }
      throw error;
    }
  }
}
