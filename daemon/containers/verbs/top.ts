import type { ContainerTop } from '../../../api/types/container-stats.ts';
import { runCommand } from '../../base/command.ts';
import type { CommandResult } from '../../base/command.ts';
import { conflict, errorText, internal, invalidArgument } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { limits } from '../../base/limits.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { checkPsArguments, parsePs } from '../control/ps.ts';
import { containerEvent } from '../state/events.ts';
import { isLive, isRestarting } from '../state/state-facts.ts';
import { startIsOver } from './stop.ts';

/** Numbers in one argument of ps: the kernel takes 128 KiB for each. */
const PIDS_IN_ARGUMENT_MAX = 10_000;

/**
 * The processes of a container as the host's ps shows them, execs included. Throws conflict when it does not run,
 * invalid_argument with dockerd's texts for arguments that ps or this function cannot do anything with.
 */
export async function topContainer(
  context: ContainerContext,
  ref: string,
  psArguments: string,
): Promise<ContainerTop> {
  const container = context.registry.find(ref);
  await startIsOver(context, container);
  refuseUnlessLive(container);
  const wanted = (psArguments.trim() === '' ? '-ef' : psArguments.trim()).split(/[ \t\n\r\f\v]+/);
  checkPsArguments(wanted.join(' '));
  const pids = context.runtime.control.processes(container.id);
  const output = await runPs(wanted, pids);
  const top = parsePs(output, new Set(pids));
  context.machine.noteEvent(containerEvent(container, 'top'));
  return top;
}

/** Asks for these processes only; some arguments (f) forbid that, and then for all. */
async function runPs(wanted: readonly string[], pids: readonly number[]): Promise<string> {
  if (pids.length <= PIDS_IN_ARGUMENT_MAX) {
    const some = await ps([...wanted, `-q${pids.join(',')}`]);
    if (some.exitCode === 0) {
      return some.stdout;
    }
  }
  const all = await ps(wanted);
  if (all.timedOut) {
    throw internal('ps did not end in time');
  }
  if (all.exitCode !== 0) {
    throw invalidArgument(
      `ps_args "${wanted.join(' ')}": ${all.stderr.split('\n')[0] || `exit status ${String(all.exitCode)}`}`,
    );
  }
  return all.stdout;
}

async function ps(args: readonly string[]): Promise<CommandResult> {
  failpoint('containers.top.ps');
  try {
    return await runCommand(['ps', ...args], {
      timeoutMs: limits.psTimeoutMs,
      outputBytesMax: limits.psOutputBytesMax,
    });
  } catch (error) {
    throw internal(`ps cannot be run on this host: ${errorText(error)}`, { cause: error });
  }
}

function refuseUnlessLive({ id, state }: Container): void {
  if (isRestarting(state)) {
    throw conflict(`Container ${id} is restarting, wait until the container is running`);
  }
  if (!isLive(state)) {
    throw conflict(`Container ${id} is not running`);
  }
}
