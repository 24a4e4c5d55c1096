import { readFileSync, writeFileSync } from 'node:fs';
import { processes } from '../../test/support/engine/cleanup.ts';
import type { TestDaemon } from '../../test/support/engine/daemon.ts';

/**
 * Processes that belong to an engine and not to a container: the daemon, its children, and processes that name its
 * scratch root in their command line (monitors, shims, containerd). What runs inside containers does neither.
 */
export function engineProcesses(daemon: TestDaemon): number[] {
  return processes()
    .filter(
      ({ pid, commandLine }) =>
        pid === daemon.pid ||
        commandLine.includes(`berth-test-${daemon.name}/`) ||
        parentOf(pid) === daemon.pid,
    )
    .map(({ pid }) => pid);
}

/** Proportional set size of processes, in kB: memory shared by several is split among them. */
export function pssKb(pids: readonly number[]): number {
  let sum = 0;
  for (const pid of pids) {
    sum += Number(/^Pss:\s+(\d+) kB/m.exec(readOrEmpty(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0);
  }
  return sum;
}

/** Resident set of a process now, in kB. */
export function rssKb(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readOrEmpty(`/proc/${pid}/status`))?.[1] ?? 0);
}

/** Largest resident set of a process since `resetPeak`, all its threads, in kB. */
export function peakRssKb(pid: number): number {
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(readOrEmpty(`/proc/${pid}/status`))?.[1] ?? 0);
}

/** The peak begins at what is resident now (proc(5), clear_refs). */
export function resetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

function parentOf(pid: number): number {
  return Number(/^PPid:\s+(\d+)/m.exec(readOrEmpty(`/proc/${pid}/status`))?.[1] ?? 0);
}

function readOrEmpty(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    // Ended meanwhile: counts as nothing.
    return '';
  }
}
