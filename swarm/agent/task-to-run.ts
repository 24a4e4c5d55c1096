import type { Platform } from '../../api/types/swarm/task.ts';
import { errorText, invalidArgument } from '../../daemon/base/errors.ts';
import type { AssignedTask } from '../protocol/session.ts';
import { expandContainerSpec } from '../templates/container-spec.ts';
import { taskName, type TemplateSubject } from '../templates/context.ts';
import { expandPayload } from '../templates/payload.ts';
import type { AssignedDataSet } from './assigned-data.ts';
import type { TaskToRun } from './executor.ts';

export interface OwnNode {
  id: string;
  hostname: string;
  platform?: Platform;
}

/**
 * The task as the engine runs it: templates filled in, data at hand. Throws invalid_argument for a template that cannot
 * be expanded.
 */
export function taskToRun(task: AssignedTask, node: OwnNode, data: AssignedDataSet): TaskToRun {
  const { id, service, slot, spec } = task;
  const subject: TemplateSubject = { service, node, task: { id, ...(slot !== undefined && { slot }) } };
  const container = expandContainerSpec(spec.ContainerSpec ?? {}, subject);
  const stored = {
    secrets: ofTask(
      data.secrets,
      container.Secrets?.map(({ SecretID }) => SecretID),
    ),
    configs: ofTask(
      data.configs,
      container.Configs?.map(({ ConfigID }) => ConfigID),
    ),
  };
  const raw = {
    spec: container,
    secrets: new Map(stored.secrets.map(([key, held]) => [key, held.data])),
    configs: new Map(stored.configs.map(([key, held]) => [key, held.data])),
  };
  const expanded = (kind: string, held: Stored): Map<string, Buffer> =>
    new Map(
      held.map(([key, { data: bytes, isTemplate }]) => {
        const isPlain = !isTemplate;
        return [key, isPlain ? bytes : named(`${kind} ${key}`, () => expandPayload(bytes, subject, raw))];
      }),
    );
  return {
    ...task,
    spec: { ...spec, ContainerSpec: container },
    name: taskName(subject),
    node: node.id,
    secrets: expanded('secret', stored.secrets),
    configs: expanded('config', stored.configs),
  };
}

type Stored = [string, { data: Buffer; isTemplate: boolean }][];

function ofTask(held: AssignedDataSet['secrets'], ids: readonly string[] = []): Stored {
  return ids.flatMap((id): Stored => {
    const found = held.get(id);
    return found === undefined ? [] : [[id, found]];
  });
}

function named<T>(what: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw invalidArgument(`expanding ${what} failed: ${errorText(error)}`, { cause: error });
  }
}
