import { errorText } from '../../../daemon/base/errors.ts';
import type { Logger } from '../../../daemon/base/logger.ts';
import type { Cluster } from '../../cluster/cluster.ts';
import { isTerminal, TaskState } from '../../objects/task-state.ts';
import type { TaskStatus } from '../../objects/task.ts';
import { sealedKey } from '../../objects/values.ts';
import type { Task } from '../../planner/state/entries.ts';
import { observedState } from '../../planner/state/observed.ts';
import type { AssignedData, AssignedTask } from '../../protocol/session.ts';

interface Source {
  cluster: Cluster;
  logger: Logger;
  unseal(key: string, sealed: Buffer): Buffer;
  /** What is known of a task and not stored. */
  statusOf(task: string): TaskStatus | undefined;
}

export type DataKind = 'secret' | 'config';

/** Tasks, secrets and configs as nodes are told them, put together from what is stored. */
export class AssignedObjects {
  readonly #source: Source;

  constructor(source: Source) {
    this.#source = source;
  }

  task({ id, record, status }: Task): AssignedTask {
    const { cluster } = this.#source;
    const { state } = cluster;
    const { task: spec = {}, endpoint } = state.templateOf(record) ?? {};
    const service = state.services.get(record.service)?.record?.spec;
    const registryAuth = this.#registryAuth(record.service);
    const logDriver = state.cluster?.spec.TaskDefaults?.LogDriver;
    const known = this.#source.statusOf(id) ?? status;
    return {
      id,
      desired: record.desired,
      service: { id: record.service, name: service?.Name ?? '', labels: service?.Labels ?? {} },
      ...(record.slot === undefined ? {} : { slot: record.slot }),
      spec,
      hostPorts: (endpoint?.Ports ?? []).filter(({ PublishMode }) => PublishMode === 'host'),
      generic: record.generic ?? [],
      networks: record.networks ?? [],
      ...(registryAuth === undefined ? {} : { registryAuth }),
      ...(logDriver ? { logDriver } : {}),
      ...(known ? { known } : {}),
    };
  }

  /** Undefined where it is gone, or does not open; the node then says which one its task lacks. */
  data(kind: DataKind, id: string): AssignedData | undefined {
    const { state } = this.#source.cluster;
    const record = kind === 'secret' ? state.secrets.get(id) : state.configs.get(id);
    const data = this.#open(sealedKey[kind](id));
    if (record === undefined || data === undefined) {
      return undefined;
    }
    const { Name = '', Templating } = record.spec;
    return { id, name: Name, data: data.toString('base64'), isTemplate: Boolean(Templating) };
  }

  /** After an update was rolled back by itself, those of before are still where they were put. */
  #registryAuth(service: string): string | undefined {
    const auth =
      this.#open(sealedKey.registryAuth(service)) ?? this.#open(sealedKey.previousRegistryAuth(service));
    return auth?.toString();
  }

  #open(key: string): Buffer | undefined {
    const { cluster, logger } = this.#source;
    const entry = cluster.value(key);
    try {
      return entry && this.#source.unseal(key, entry.value);
    } catch (error) {
      logger.error({ key, error: errorText(error) }, 'a sealed value of the swarm does not open');
      return undefined;
    }
  }
}

/** Whether a task runs or is going to: it has its secrets and configs until then. */
export function needsData(task: Task): boolean {
  return task.record.desired <= TaskState.complete && !isTerminal(observedState(task));
}
