import { existsSync } from 'node:fs';
import type { ContainerSpec } from '../../api/types/swarm/container-spec.ts';
import type { TaskToRun } from '../../swarm/agent/executor.ts';
import { invalidArgument } from '../base/errors.ts';
import { failpoint } from '../base/failpoint.ts';
import { Rollback } from '../base/rollback.ts';
import { containerRequest } from './container-request.ts';
import type { TaskContext } from './context.ts';
import { findContainer } from './task-containers.ts';
import { taskNetworks } from './task-networks.ts';

/**
 * Makes a task's container, with its image and its files, unless an earlier try has. Answers its id. Throws
 * invalid_argument for what this node cannot do, not_found for a network or an image, internal for a network that is
 * not in force, and canceled.
 */
export async function prepareTask(
  context: TaskContext,
  task: TaskToRun,
  signal: AbortSignal,
): Promise<string> {
  const { containers, files, pulls, logger } = context;
  const known = await findContainer(context, task.id);
  if (known !== undefined) {
    return known.Id;
  }
  const spec = task.spec.ContainerSpec ?? {};
  refuseMissingSources(spec);
  const request = containerRequest(task, await taskNetworks(context, task));
  await pulls.ensure(spec.Image ?? '', task.registryAuth, signal);
  await using rollback = new Rollback(logger, { task: task.id });
  rollback.defer('remove files', () => files.remove(task.id));
  const written = await files.write(task);
  failpoint('tasks.prepare.create');
  const { Id } = await containers.create(task.name, request, { signal, task: { files: written } });
  rollback.commit();
  failpoint('tasks.prepare.created');
  return Id;
}

/** Unlike those of `docker run`, sources of a service are never made. Throws invalid_argument in swarmkit's words. */
function refuseMissingSources({ Mounts }: ContainerSpec): void {
  for (const { Type, Source = '', BindOptions } of Mounts ?? []) {
    if (Type === 'bind' && BindOptions?.CreateMountpoint !== true && !existsSync(Source)) {
      throw invalidArgument(`invalid bind mount source, source path not found: ${Source}`);
    }
  }
}
