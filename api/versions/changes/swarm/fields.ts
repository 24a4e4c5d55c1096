import type { VersionChange } from '../../change.ts';
import { fieldCut } from '../../field-cut.ts';

/** Paths of fields in what clients send, and in what they get: of one object, and of each in a list. */
interface Fields {
  sent: readonly string[];
  answered: readonly string[];
}

export const SERVICE_WRITES = ['service.create', 'service.update'];
export const SERVICE_READS = ['service.list', 'service.inspect'];
export const SERVICE_ROUTES = [...SERVICE_WRITES, ...SERVICE_READS];
/** Routes that carry what tasks are made of: tasks have it as their Spec. */
export const TASK_SPEC_ROUTES = [...SERVICE_ROUTES, 'task.list', 'task.inspect'];
/** Routes that tell of the swarm: /info has it as Swarm.Cluster. */
export const CLUSTER_READS = ['swarm.inspect', 'system.info'];

/** Of a service's specification; services tell the one before it, too. */
export function ofService(...fields: readonly string[]): Fields {
  return {
    sent: fields,
    answered: fields.flatMap((field) => [`Spec.${field}`, `PreviousSpec.${field}`]),
  };
}

/** Of the template of a service's tasks. */
export function ofTasks(...fields: readonly string[]): Fields {
  const { sent, answered } = ofService(...fields.map((field) => `TaskTemplate.${field}`));
  return { sent, answered: [...answered, ...fields.map((field) => `Spec.${field}`)] };
}

/** Of what a task runs. */
export function ofContainers(...fields: readonly string[]): Fields {
  return ofTasks(...fields.map((field) => `ContainerSpec.${field}`));
}

/** Told, and never sent. */
export function told(...answered: readonly string[]): Fields {
  return { sent: [], answered };
}

/** Told of the swarm, and never sent. */
export function toldOfCluster(...fields: readonly string[]): Fields {
  return told(...fields, ...fields.map((field) => `Swarm.Cluster.${field}`));
}

/** The parts of a change that takes new fields out of what older clients send and get. */
export function newFields(...fields: readonly Fields[]): Pick<VersionChange, 'request' | 'response'> {
  const sent = fields.flatMap((each) => each.sent);
  const answered = fields.flatMap((each) => each.answered);
  const cutSent = fieldCut(sent);
  return {
    ...(sent.length > 0 && {
      request: (request) => {
        request.body = cutSent(request.body);
      },
    }),
    ...(answered.length > 0 && { response: fieldCut(answered) }),
  };
}
