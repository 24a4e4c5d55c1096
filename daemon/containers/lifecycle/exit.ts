import type { ContainerExit } from '../../../runtime/monitor/exit-watch.ts';
import { failpoint } from '../../base/failpoint.ts';
import { persistently } from '../../base/concurrency/retry.ts';
import type { EventDraft } from '../../events/journal-types.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { containerEvent, networkEvents } from '../state/events.ts';
import { loggedRun } from '../stdio/logged-run.ts';
import { releaseContainer, releaseEnded } from './release.ts';
import { removeLocked } from '../verbs/remove.ts';
import { nextRestartDelayMs } from './restart-policy.ts';
import { scheduleRestart } from './restart.ts';
import type { PausedState, RunningState } from '../state/state.ts';
import { isLive } from '../state/state-facts.ts';

const NANOS_PER_MS = 1_000_000n;

/**
 * The runtime saw a container end. Settles it at once: state, `die`, waiters; then gives back what it used, removes it
 * or starts it again. One `die` per exit: whatever reports the same end again meets a state that is not running.
 */
export function containerExited(context: ContainerContext, report: ContainerExit): void {
  const container = context.registry.get(report.id);
  if (container?.state.status === 'starting') {
    // Before its start was committed: the start that is under way looks for this and fails.
    container.earlyExit = report;
    return;
  }
  if (container === undefined || !isLive(container.state)) {
    // Of a start that was rolled back: no client was told that it ran.
    context.runtime.forgetExit(report.id);
    return;
  }
  if (context.isAlive(container.state.process)) {
    context.log.warn({ container: report.id }, 'an exit record of an earlier run was ignored');
    context.runtime.forgetExit(report.id);
    return;
  }
  if (context.restoring.has(report.id) && context.runtime.hasNeverRun(report.id, container.state.process)) {
    // It is being restored, and will be started again.
    return;
  }
  settleExit(context, container, container.state, report);
  afterExit(context, container);
}

/** The end of an init that never executed the command: no `die`, nothing of its policy; it is started again. */
export function settleUnrun(
  context: ContainerContext,
  container: Container,
  { sandbox }: RunningState | PausedState,
  { finishedAtNano }: ContainerExit,
): void {
  context.machine.note(
    container,
    { type: 'unrun', finishedAtNano },
    networkEvents(context.networks, container, sandbox, 'disconnect'),
    { stored: () => forgetRecord(context, container) },
  );
  context.logs.ended(loggedRun(context, container));
  container.pendingRelease = () => releaseContainer(context, container, sandbox);
}

/** State, events and exit record of an end; `restore` uses it for ends that no daemon saw. */
export function settleExit(
  context: ContainerContext,
  container: Container,
  live: RunningState | PausedState,
  report: ContainerExit,
): void {
  context.machine.note(
    container,
    {
      type: 'exit',
      exitCode: report.exitCode,
      oomKilled: report.oomKilled,
      finishedAtNano: report.finishedAtNano,
      restart: decideRestart(context, container, live, report),
    },
    exitEvents(context, container, live, report),
    { stored: () => forgetRecord(context, container) },
  );
  context.logs.ended(loggedRun(context, container));
  container.pendingRelease = () => releaseContainer(context, container, live.sandbox);
  // A verb that waits for the mutex already comes before this, and releases first if it needs to.
  void context.mutex
    .run(container.id, () => releaseEnded(container))
    .catch((error: unknown) => {
      context.log.error({ container: container.id, err: error }, 'release of an ended container failed');
    });
}

/** Removes the exit record: the database has made it needless. */
function forgetRecord({ clock, log, runtime }: ContainerContext, { id }: Container): void {
  void persistently(clock, () => {
    failpoint('containers.exit.forget');
    runtime.forgetExit(id);
  }).catch((error: unknown) => {
    log.error({ container: id, err: error }, 'the record of an exit stays');
  });
}

function decideRestart(
  context: ContainerContext,
  container: Container,
  live: RunningState | PausedState,
  report: ContainerExit,
): { delayMs: number; atNano: bigint } | null {
  const delayMs = nextRestartDelayMs(container.spec.hostConfig.RestartPolicy, {
    exitCode: report.exitCode,
    restartCount: live.restartCount,
    lastDelayMs: live.restartDelayMs,
    upTimeMs: upTimeMs(context, container, live, report),
    stopRequested: live.stopRequested,
  });
  return delayMs === null
    ? null
    : { delayMs, atNano: context.clock.nowNano() + BigInt(delayMs) * NANOS_PER_MS };
}

/** By the monotonic clock where this daemon saw the start: the wall clock may have been set meanwhile. */
function upTimeMs(
  { clock }: ContainerContext,
  { startedAtMs }: Container,
  live: RunningState | PausedState,
  report: ContainerExit,
): number {
  return startedAtMs === undefined
    ? Number((report.finishedAtNano - live.startedAtNano) / NANOS_PER_MS)
    : clock.monotonicMs() - startedAtMs;
}

function exitEvents(
  context: ContainerContext,
  container: Container,
  live: RunningState | PausedState,
  report: ContainerExit,
): EventDraft[] {
  const seconds = (report.finishedAtNano - live.startedAtNano) / (1000n * NANOS_PER_MS);
  const die = containerEvent(container, 'die', {
    exitCode: String(report.exitCode),
    execDuration: String(seconds < 0n ? 0n : seconds),
  });
  // Told already when it was seen while the container ran.
  const oom = report.oomKilled && live.oomKilled !== true ? [containerEvent(container, 'oom')] : [];
  return [...oom, die, ...networkEvents(context.networks, container, live.sandbox, 'disconnect')];
}

/** What follows an exit once its resources are back. Call it in the same tick: what comes later waits behind it. */
function afterExit(context: ContainerContext, container: Container): void {
  scheduleRestart(context, container);
  void removeIfAutomatic(context, container).catch((error: unknown) => {
    context.log.error({ container: container.id, err: error }, 'automatic removal failed');
  });
}

/** Removes a `--rm` container that has ended. */
export async function removeIfAutomatic(context: ContainerContext, container: Container): Promise<void> {
  if (!container.spec.hostConfig.AutoRemove || container.restarts > 0) {
    return;
  }
  await persistently(context.clock, () =>
    context.mutex.run(container.id, async () => {
      const { status } = container.state;
      // `dead` after an attempt that failed half-way.
      if (context.registry.get(container.id) === container && (status === 'exited' || status === 'dead')) {
        await removeLocked(context, container, { volumes: true, force: false });
      }
    }),
  );
}

/**
 * A container that goes on has no more memory. Only a kill is noted in its state, as dockerd has it. One that ended of
 * it tells that with its end.
 */
export function containerOom(
  { registry, machine }: ContainerContext,
  id: string,
  { hasKilled }: { hasKilled: boolean },
): void {
  const container = registry.get(id);
  if (container === undefined || !isLive(container.state)) {
    return;
  }
  const event = containerEvent(container, 'oom');
  if (hasKilled) {
    machine.note(container, { type: 'oom' }, [event]);
  } else {
    machine.noteEvent(event);
  }
}
