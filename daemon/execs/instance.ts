import type { ExecCreateRequest, ExecInspect } from '../../api/types/exec.ts';
import type { OciProcess } from '../../runtime/runc/spec-types.ts';
import { unreachable } from '../base/errors.ts';
import type { ExecProcess } from '../containers/stdio/process-streams.ts';
import type { EventDraft } from '../events/journal-types.ts';
import type { ExecTarget } from './ports.ts';

/** The life of an exec instance: each can run once. */
export type ExecState =
  | { status: 'created' }
  | { status: 'starting' }
  | { status: 'running'; process: ExecProcess }
  | { status: 'exited'; exitCode: number; pid: number };

/** A command to be run, running or ended in a container. In memory only: it dies with its container. */
export interface ExecInstance {
  readonly id: string;
  readonly target: ExecTarget;
  readonly request: ExecCreateRequest;
  readonly process: OciProcess;
  readonly detachKeys: readonly number[];
  /** Terminal size that came before the process did. */
  size: { height: number; width: number } | undefined;
  state: ExecState;
}

/** An event of the container about this instance: `exec_start: sh -c ls`, with its id. */
export function execEvent(
  { id, target, process }: ExecInstance,
  action: 'exec_create' | 'exec_start' | 'exec_die' | 'exec_detach',
  attributes: Record<string, string> = {},
): EventDraft {
  const named = action === 'exec_create' || action === 'exec_start';
  return target.event(named ? `${action}: ${process.args.join(' ')}` : action, {
    execID: id,
    ...attributes,
  });
}

/** As GET /exec/{id}/json shows it. */
export function execView({ id, target, request, process, state }: ExecInstance): ExecInspect {
  const [entrypoint = '', ...args] = process.args;
  return {
    ID: id,
    Running: state.status === 'running' || state.status === 'starting',
    ExitCode: state.status === 'exited' ? state.exitCode : null,
    ProcessConfig: {
      tty: request.Tty ?? false,
      entrypoint,
      arguments: args,
      privileged: request.Privileged ?? false,
      user: request.User ?? '',
    },
    OpenStdin: request.AttachStdin ?? false,
    OpenStderr: request.AttachStderr ?? false,
    OpenStdout: request.AttachStdout ?? false,
    CanRemove: false,
    ContainerID: target.id,
    DetachKeys: request.DetachKeys ?? '',
    Pid: pidOf(state),
  };
}

function pidOf(state: ExecState): number {
  switch (state.status) {
    case 'running':
      return state.process.pid;
    case 'exited':
      return state.pid;
    case 'created':
    case 'starting':
      return 0;
    default:
      return unreachable(state);
  }
}
