import type { StringMap } from '../../api/types/maps.ts';
import type { TaskToRun } from '../../swarm/agent/executor.ts';

/** By it a task's container is found again: `docker ps --filter is-task=true` asks for it too. */
export const TASK_ID_LABEL = 'com.docker.swarm.task.id';

/** Those of the specification, and above them those that tell whose container it is. */
export function taskLabels({ id, name, node, service, spec }: TaskToRun): StringMap {
  return {
    ...spec.ContainerSpec?.Labels,
    'com.docker.swarm.task': '',
    [TASK_ID_LABEL]: id,
    'com.docker.swarm.task.name': name,
    'com.docker.swarm.node.id': node,
    'com.docker.swarm.service.id': service.id,
    'com.docker.swarm.service.name': service.name,
  };
}
