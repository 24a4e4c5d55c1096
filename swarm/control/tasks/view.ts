import type { TaskInspect, TaskSpec } from '../../../api/types/swarm/task.ts';
import type { TemplateRecord } from '../../objects/service.ts';
import { TaskState, taskStateName } from '../../objects/task-state.ts';
import type { TaskRecord, TaskStatus } from '../../objects/task.ts';
import type { Task } from '../../planner/state/entries.ts';
import { observedState } from '../../planner/state/observed.ts';
import { headOf, timeText, versionOf } from '../base/head.ts';
import type { ControlContext } from '../context.ts';
import { attachmentsOf } from '../networks/view.ts';
import { taskSpecView } from '../services/spec/view.ts';
import { statusOf } from './state.ts';

/** What is said of a task of which no node has said anything yet. */
const MESSAGES: Readonly<Partial<Record<TaskState, string>>> = {
  [TaskState.new]: 'created',
  [TaskState.pending]: 'pending task scheduling',
  [TaskState.assigned]: 'scheduler assigned task to node',
};
const MESSAGE_PINNED = 'scheduler confirmed task can run on preassigned node';

/** A task as clients read it, from memory. */
export function taskView(context: Pick<ControlContext, 'cluster' | 'statusOf'>, task: Task): TaskInspect {
  const { cluster } = context;
  const { id, record } = task;
  const status = statusOf(context, task);
  const updated = Math.max(record.updated, status?.at ?? 0, record.refusal?.at ?? 0);
  const node = record.node ?? record.pinned;
  const attachments = attachmentsOf(cluster, record.networks);
  return {
    ...headOf(
      { id, created: record.created, updated },
      Math.max(cluster.revisionOf('task', id), cluster.revisionOf('status', id)),
    ),
    Labels: {},
    Spec: specOf(cluster.state.templateOf(record)),
    ServiceID: record.service,
    ...(record.slot ? { Slot: record.slot } : {}),
    ...(node === undefined ? {} : { NodeID: node }),
    Status: statusView(task, status),
    DesiredState: taskStateName(record.desired),
    ...(attachments.length > 0 ? { NetworksAttachments: attachments } : {}),
    ...(record.generic && record.generic.length > 0 ? { GenericResources: record.generic } : {}),
    ...(record.iteration === undefined ? {} : { JobIteration: versionOf(record.iteration) }),
    Volumes: null,
  };
}

/** A service's tasks run few templates, whose view is made once. */
const specs = new WeakMap<TemplateRecord, TaskSpec>();

function specOf(template: TemplateRecord | undefined): TaskSpec {
  const known = template && specs.get(template);
  if (known !== undefined) {
    return known;
  }
  const spec = taskSpecView(template?.task ?? {});
  if (template !== undefined) {
    specs.set(template, spec);
  }
  return spec;
}

function statusView(task: Task, status: TaskStatus | undefined): TaskInspect['Status'] {
  const { record } = task;
  if (status === undefined) {
    return unreportedView(record, observedState({ ...task, status }));
  }
  const { container, ports } = status;
  return {
    Timestamp: timeText(status.at),
    State: taskStateName(status.state),
    ...(status.message === '' ? {} : { Message: status.message }),
    ...(status.error === undefined ? {} : { Err: status.error }),
    ...(container && {
      ContainerStatus: {
        ContainerID: container.id,
        PID: container.pid ?? 0,
        ExitCode: container.exitCode ?? 0,
      },
    }),
    PortStatus: ports && ports.length > 0 ? { Ports: ports } : {},
  };
}

function unreportedView(record: TaskRecord, state: TaskState): TaskInspect['Status'] {
  const isPlaced = state === TaskState.assigned;
  const message = isPlaced && record.pinned !== undefined ? MESSAGE_PINNED : (MESSAGES[state] ?? '');
  const error = isPlaced ? undefined : record.refusal?.error;
  return {
    Timestamp: timeText((isPlaced ? undefined : record.refusal?.at) ?? record.created),
    State: taskStateName(state),
    Message: message,
    ...(error === undefined ? {} : { Err: error }),
    PortStatus: {},
  };
}
