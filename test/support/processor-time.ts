import { readFileSync } from 'node:fs';

/** A watch of this process's processor time, in milliseconds: what others take on a busy machine does not count. */
export function processorTime(): () => number {
  const start = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(start);
    return (user + system) / 1000;
  };
}

/** The same of the thread that calls it, without the process's others; it is exact to some milliseconds. */
export function threadTime(): () => number {
  const start = threadMs();
  return () => threadMs() - start;
}

function threadMs(): number {
  return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[0]) / 1e6;
}
