import { EngineError } from '../base/errors.ts';
import { failpoint } from '../base/failpoint.ts';
import type { ExecProcess } from '../containers/stdio/process-streams.ts';
import type { ExecsDeps } from './deps.ts';
import { execEvent } from './instance.ts';
import type { ExecInstance } from './instance.ts';

/** Exit code of a command that could not be started for an unknown reason. */
const EXIT_CODE_NOT_STARTED = 126;

/** A process that runs, and the moment its end is noted: `Running` is false from then on. */
export interface LaunchedExec {
  process: ExecProcess;
  settled: Promise<void>;
}

/** Starts the command of an instance in `starting`. Throws what the client is to read; the instance has ended then. */
export async function launchExec(
  context: ExecsDeps,
  instance: ExecInstance,
  options: { stdin: boolean; detached?: boolean },
): Promise<LaunchedExec> {
  const { id, target, size } = instance;
  let process: ExecProcess;
  try {
    using _launching = target.launching();
    failpoint('execs.start.launch');
    const consoleSize = size ?? instance.process.consoleSize;
    process = await context.runtime.exec({
      containerId: target.id,
      execId: id,
      process: instance.process,
      ...options,
      ...(consoleSize && { consoleSize }),
    });
  } catch (error) {
    const { exitCode } = error instanceof EngineError ? error.details : {};
    end(instance, typeof exitCode === 'number' ? exitCode : EXIT_CODE_NOT_STARTED, 0);
    throw error;
  }
  instance.state = { status: 'running', process };
  if (instance.size !== size && instance.size !== undefined) {
    process.resize(instance.size.height, instance.size.width);
  }
  target.note(execEvent(instance, 'exec_start'));
  return { process, settled: settle(context, instance, process) };
}

async function settle(context: ExecsDeps, instance: ExecInstance, process: ExecProcess): Promise<void> {
  let exitCode = EXIT_CODE_NOT_STARTED;
  try {
    exitCode = await process.exited;
  } catch (error) {
    context.log.error(
      { container: instance.target.id, exec: instance.id, err: error },
      'exec lost its process',
    );
  }
  end(instance, exitCode, process.pid);
  instance.target.note(execEvent(instance, 'exec_die', { exitCode: String(exitCode) }));
}

/** It can still be inspected; its container does not show it any more. */
function end(instance: ExecInstance, exitCode: number, pid: number): void {
  instance.state = { status: 'exited', exitCode, pid };
  instance.target.execIds.delete(instance.id);
}
