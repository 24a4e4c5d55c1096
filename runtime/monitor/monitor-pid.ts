import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { ifThere, internal } from '../../daemon/base/errors.ts';
import { sendSignal } from '../../daemon/base/kernel/processes/pidfd.ts';
import { identify, isAlive, statFields } from '../../daemon/base/kernel/processes/process.ts';
import type { ProcessIdentity } from '../../daemon/base/kernel/processes/process.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { Bundle } from '../runc/exec-root.ts';

/**
 * The live conmon that was started for `bundle`; undefined when it has ended. conmon records its number only, so the
 * process must also carry the path of the bundle among its arguments: no other process does. Where the record was
 * cleaned away it is the parent of `init`, the container's first process, for as long as that lives.
 */
export function monitorOf(bundle: Bundle, init?: ProcessIdentity): ProcessIdentity | undefined {
  const recorded = readIfThere(bundle.monitorPidFile);
  // proc(5): the parent is the second of these.
  const parent =
    recorded === '' && init !== undefined && isAlive(init) ? statFields(init.pid)?.[1] : undefined;
  const pid = Number(parent ?? recorded);
  if (!Number.isInteger(pid) || pid <= 1) {
    return undefined;
  }
  const monitor = identify(pid);
  return namesBundle(pid, bundle) ? monitor : undefined;
}

/**
 * Kills the conmon of `bundle` and the runc that it may be running, and waits until both are gone, so that nothing is
 * made any more while it is being removed. What runs in the container lives on.
 * Throws EngineError internal when one does not end.
 */
export async function endMonitor(bundle: Bundle): Promise<void> {
  if (readIfThere(bundle.monitorPidFile) === '') {
    return endUnrecorded(bundle);
  }
  const monitor = monitorOf(bundle);
  if (monitor === undefined) {
    return;
  }
  // Stopped first: the kernel lists children reliably only then, and one forked just now would escape.
  sendSignal(monitor, SIGSTOP);
  await until(`stop monitor ${monitor.pid}`, () => isStopped(monitor) || !isAlive(monitor));
  await end([...runcOf(monitor, bundle), monitor]);
}

/** A daemon that died right after starting a conmon: it may still be about to fork and to write its number. */
async function endUnrecorded(bundle: Bundle): Promise<void> {
  while (existsSync(bundle.path)) {
    const found = readdirSync('/proc')
      .map(Number)
      .filter((pid) => pid > 1 && pid !== process.pid && namesBundle(pid, bundle))
      .flatMap((pid) => identify(pid) ?? []);
    if (found.length === 0) {
      return;
    }
    await end(found);
  }
}

async function end(processes: readonly ProcessIdentity[]): Promise<void> {
  for (const one of processes) {
    sendSignal(one, SIGKILL);
  }
  await until(`kill processes ${processes.map(({ pid }) => pid).join(' ')}`, () => !processes.some(isAlive));
}

async function until(what: string, done: () => boolean): Promise<void> {
  const deadline = performance.now() + limits.killWaitMs;
  while (!done()) {
    if (performance.now() > deadline) {
      throw internal(`${what}: no effect after ${limits.killWaitMs} ms`);
    }
    await sleep(1);
  }
}

function isStopped({ pid }: ProcessIdentity): boolean {
  // The state is the first field after the command name in parentheses (proc(5)).
  return /.*\) T /s.test(readIfThere(`/proc/${pid}/stat`));
}

/** Children of conmon that work on `bundle`: `runc create`, but not the container's init. */
function runcOf(monitor: ProcessIdentity, bundle: Bundle): ProcessIdentity[] {
  return readIfThere(`/proc/${monitor.pid}/task/${monitor.pid}/children`)
    .split(' ')
    .flatMap((pid) => (namesBundle(Number(pid), bundle) ? (identify(Number(pid)) ?? []) : []));
}

function namesBundle(pid: number, bundle: Bundle): boolean {
  return readIfThere(`/proc/${pid}/cmdline`)
    .split('\0')
    .some((argument) => argument.endsWith(bundle.path) || argument.startsWith(`${bundle.path}/`));
}

const SIGKILL = 9;
const SIGSTOP = 19;

function readIfThere(file: string): string {
  return ifThere(() => readFileSync(file, 'utf8'), ['ENOENT', 'ESRCH']) ?? '';
}
