import type { ContainerExit } from '../../../runtime/monitor/exit-watch.ts';
import { unreachable } from '../../base/errors.ts';
import type { ContainerState } from '../state/state.ts';

/** What the world says of a container when the daemon starts. */
export interface RecoveryFacts {
  id: string;
  bootId: string;
  nowNano: bigint;
  /** Exactly its process lives. */
  isAlive: boolean;
  /** Its process has ended and never executed the command. */
  hasNeverRun: boolean;
  /** What its monitor recorded. */
  exit: ContainerExit | undefined;
  autoRemove: boolean;
  /** Its directory says that it was removed: a full disk did not take the row's `removing`. */
  isRemoved: boolean;
}

/** What is to be done with a container when the daemon starts. */
export type Recovery =
  | { kind: 'take_over' }
  | { kind: 'ended'; report: ContainerExit }
  | { kind: 'start_again'; report: ContainerExit }
  | { kind: 'await_attempt' }
  | { kind: 'finish_removal'; withVolumes: boolean }
  | { kind: 'remove' }
  | { kind: 'nothing' };

/** Exit code of a container whose end was not recorded: the host went down, or its monitor died too. */
export const EXIT_CODE_UNKNOWN = 255;

/** Pure: state in the database and facts of the world give what is to be done. */
export function decideRecovery(state: ContainerState, facts: RecoveryFacts): Recovery {
  if (facts.isRemoved && !facts.isAlive && state.status !== 'removing') {
    return { kind: 'finish_removal', withVolumes: false };
  }
  switch (state.status) {
    case 'running':
    case 'paused':
      if (state.bootId === facts.bootId && facts.isAlive) {
        return { kind: 'take_over' };
      }
      return {
        kind:
          facts.hasNeverRun && state.status === 'running' && !state.stopRequested ? 'start_again' : 'ended',
        report: facts.exit ?? unknownEnd(facts),
      };
    case 'restarting':
      return { kind: 'await_attempt' };
    case 'removing':
      return { kind: 'finish_removal', withVolumes: state.withVolumes };
    case 'exited':
      return facts.autoRemove ? { kind: 'remove' } : { kind: 'nothing' };
    case 'created':
      // A failed start of a `--rm` container is the end of it.
      return facts.autoRemove && state.exitCode !== 0 ? { kind: 'remove' } : { kind: 'nothing' };
    case 'starting':
    case 'dead':
      return { kind: 'nothing' };
    default:
      return unreachable(state);
  }
}

function unknownEnd({ id, nowNano }: RecoveryFacts): ContainerExit {
  return { id, exitCode: EXIT_CODE_UNKNOWN, finishedAtNano: nowNano, oomKilled: false };
}
