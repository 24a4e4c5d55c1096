import type { StringMap } from '../../api/types/maps.ts';
import type { Platform } from '../../api/types/swarm/task.ts';
import { Struct, type Value } from './values.ts';

/** Whose values a template is expanded with. */
export interface TemplateSubject {
  service: { id: string; name: string; labels: StringMap };
  node: { id: string; hostname: string; platform?: Platform };
  task: { id: string; slot?: number };
}

/** A task's name: `SERVICE.SLOT.TASK`, with the node's id where it has no slot. */
export function taskName({ service, node, task }: TemplateSubject): string {
  return `${service.name}.${task.slot ?? node.id}.${task.id}`;
}

/** `.Service`, `.Node` and `.Task` of a template. */
export function templateContext(subject: TemplateSubject): Value {
  const { service, node, task } = subject;
  return new Struct('*template.Context', {
    Service: new Struct('struct { ID string; Name string; Labels map[string]string }', {
      ID: service.id,
      Name: service.name,
      Labels: new Map(Object.entries(service.labels)),
    }),
    Node: new Struct('struct { ID string; Hostname string; Platform template.Platform }', {
      ID: node.id,
      Hostname: node.hostname,
      Platform: new Struct('template.Platform', {
        Architecture: node.platform?.Architecture ?? '',
        OS: node.platform?.OS ?? '',
      }),
    }),
    Task: new Struct('struct { ID string; Name string; Slot string }', {
      ID: task.id,
      Name: taskName(subject),
      Slot: String(task.slot ?? node.id),
    }),
  });
}
