import { readFileSync, readlinkSync } from 'node:fs';
import { until } from './engine/http.ts';

/**
 * What the kernel says of processes that tests do not own. Any of them may be gone the next moment, and a test that
 * looks while it goes must not fail for that: what is gone says nothing.
 */

/** A file of /proc/<pid>; empty when the process is gone. */
export function processFile(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    // Ended meanwhile, or just before.
    return '';
  }
}

/** Where a link of /proc/<pid> leads (`ns/net`, `root`, `fd/3`); empty when the process is gone. */
export function processLink(pid: number, link: string): string {
  try {
    return readlinkSync(`/proc/${pid}/${link}`);
  } catch {
    // Ended meanwhile, or closed.
    return '';
  }
}

/** Bytes of memory that a process has in RAM; NaN when it is gone. */
export function residentBytes(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(processFile(pid, 'status'))?.[1]) * 1024;
}

/** The letter of proc(5): `S`, `D`, `T`, `Z`; empty when it is gone. */
export function processState(pid: number): string {
  return /\) (\w)/.exec(processFile(pid, 'stat'))?.[1] ?? '';
}

/**
 * True until the runtime's own program has become that of the container, a little after the start. A signal that
 * comes before meets the runtime, which ends with a code of its own.
 */
export function isRuntime(pid: number): boolean {
  return processFile(pid, 'comm').startsWith('runc');
}

/** Whether a program of the container has a handler for the signal (proc(5), SigCgt). */
export function catches(pid: number, signal: number): boolean {
  const mask = /^SigCgt:\s+([0-9a-f]+)$/m.exec(processFile(pid, 'status'))?.[1] ?? '0';
  return !isRuntime(pid) && (BigInt(`0x${mask}`) & (1n << BigInt(signal - 1))) !== 0n;
}

/** Resolves once a shell has set its trap: what is sent before is lost. */
export async function untilCatching(pid: number, signal: number): Promise<void> {
  await until(`a handler of signal ${signal}`, () => catches(pid, signal));
}
