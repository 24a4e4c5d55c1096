import { readFileSync } from 'node:fs';
import { ifThere } from '../../errors.ts';

/** A process that cannot be confused with a later one of the same number: pid plus start time (proc(5) field 22). */
export interface ProcessIdentity {
  pid: number;
  /** Clock ticks after boot. */
  startTime: string;
}

/** The identity of a live process; undefined when there is none. A zombie counts as ended. */
export function identify(pid: number): ProcessIdentity | undefined {
  const stat = readStat(pid);
  return stat === undefined || stat.state === 'Z' || stat.state === 'X'
    ? undefined
    : { pid, startTime: stat.startTime };
}

/** True while exactly this process lives. */
export function isAlive(process: ProcessIdentity): boolean {
  return identify(process.pid)?.startTime === process.startTime;
}

/** Distinguishes this boot from others: a pid of an earlier boot means nothing. */
export function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
}

function readStat(pid: number): { state: string; startTime: string } | undefined {
  const fields = statFields(pid);
  return fields && { state: fields[0] ?? '?', startTime: fields[19] ?? '0' };
}

/** /proc/<pid>/stat from its third field on, the state (proc(5)); undefined for a process that is gone. */
export function statFields(pid: number): string[] | undefined {
  const text = ifThere(() => readFileSync(`/proc/${pid}/stat`, 'utf8'), ['ENOENT', 'ESRCH']);
  // The command name (field 2) may hold blanks and parentheses: fields are counted from the last ")".
  return text?.slice(text.lastIndexOf(')') + 2).split(' ');
}
