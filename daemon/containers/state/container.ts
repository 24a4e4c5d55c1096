import type { ContainerInspect, ContainerSummary } from '../../../api/types/container.ts';
import type { ContainerExit } from '../../../runtime/monitor/exit-watch.ts';
import { LaunchGate } from '../control/launch-gate.ts';
import type { ContainerSpec } from '../request/container-spec.ts';
import type { ContainerState } from './state.ts';
import type { PendingAttach } from '../stdio/pending-attach.ts';

/**
 * A container in memory: its row, and what only a living daemon knows of it.
 *
 * INVARIANTS
 * - `state`, `spec` and `name` are assigned by `machine.ts` alone, after the database has them.
 * - Everything else that is mutable here is lost with the daemon without harm.
 */
export interface Container {
  readonly id: string;
  /** Without a slash. */
  name: string;
  readonly imageId: string;
  /** Bottom first. */
  readonly layerIds: readonly number[];
  readonly createdNano: bigint;
  spec: ContainerSpec;
  state: ContainerState;

  /** Exec instances that inspect lists. */
  readonly execIds: Set<string>;
  /** Clients that attached before the start. */
  readonly pendingAttaches: Set<PendingAttach>;
  /** Clients that are attached to its run, or still owed output of the last one. */
  readonly attached: Set<PendingAttach>;
  /** Exit of a process that ended before its start was committed. */
  earlyExit: ContainerExit | undefined;
  /** Fires the next attempt of the restart policy. */
  restartTimer: Disposable | undefined;
  /** Resolves when its start together with the daemon is over, as a success or not. */
  startWithDaemon: Promise<void> | undefined;
  /** When its run began, on the monotonic clock; undefined before the first start. */
  startedAtMs: number | undefined;
  /** A build still needs it, until this fires: no prune takes it. */
  neededUntil: AbortSignal | undefined;
  /** `NAME=value` of a build's secrets, for its process alone: they go with this daemon, as the build does. */
  unstoredVariables: readonly string[];
  /** A start is under way, to the moment its command runs: signals wait for that. */
  isBeingStarted: boolean;
  /** Restarts under way: the end in between is not the end, `--rm` waits. */
  restarts: number;
  /** Grows with each wish that the container may end: a pause under way gives way to it. */
  endRequests: number;
  /** Start of the run that was sent SIGKILL: it is no longer paused, a frozen process would never take it. */
  killedRunNano: bigint | undefined;
  /** Where execs pass on their way into the container; closed while it is being paused. */
  readonly launchGate: LaunchGate;
  /** Gives back what the run that has ended used; undefined once that is done (`releaseEnded`). */
  pendingRelease: (() => Promise<void>) | undefined;
  /** Rendered parts of views that stay true until the next change. */
  readonly views: { summary?: ContainerSummary; inspect?: ContainerInspect };
}

/** A container in memory from the facts of its row. */
export function newContainer(
  facts: Pick<Container, 'id' | 'name' | 'imageId' | 'layerIds' | 'createdNano' | 'spec' | 'state'>,
): Container {
  return {
    ...facts,
    execIds: new Set(),
    pendingAttaches: new Set(),
    attached: new Set(),
    earlyExit: undefined,
    restartTimer: undefined,
    startWithDaemon: undefined,
    startedAtMs: undefined,
    neededUntil: undefined,
    unstoredVariables: [],
    isBeingStarted: false,
    restarts: 0,
    pendingRelease: undefined,
    endRequests: 0,
    killedRunNano: undefined,
    launchGate: new LaunchGate(),
    views: {},
  };
}

/** Forgets the next attempt of the restart policy: the container was stopped, started or removed meanwhile. */
export function cancelRestart(container: Container): void {
  container.restartTimer?.[Symbol.dispose]();
  container.restartTimer = undefined;
}
