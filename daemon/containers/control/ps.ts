import type { ContainerTop } from '../../../api/types/container-stats.ts';
import { invalidArgument } from '../../base/errors.ts';

/**
 * Refuses to give another column the title PID, by which the container's processes are told from the host's. Pure.
 * Throws invalid_argument, where dockerd answers 500.
 */
export function checkPsArguments(psArguments: string): void {
  for (const [, column = '', title = ''] of psArguments.matchAll(/(?:^|[\s,])([^\s,=]*)=\s*(PID[^\s,]*)/g)) {
    if (column.replace(/^-o/, '') !== 'pid') {
      throw invalidArgument(`specifying "${column}=${title}" is not allowed`);
    }
  }
}

/** The lines of ps about these processes, and about their threads (`-` for a number). Pure. */
export function parsePs(output: string, pids: ReadonlySet<number>): ContainerTop {
  const [head = '', ...lines] = output.split('\n');
  const Titles = fields(head);
  const pidColumn = Titles.indexOf('PID');
  if (pidColumn === -1) {
    throw invalidArgument("Couldn't find PID field in ps output");
  }
  const Processes: string[][] = [];
  let isOurs = false;
  for (const words of lines.map(fields).filter((line) => line.length > 0)) {
    const pid = words[pidColumn] ?? '';
    if (pid !== '-') {
      if (!/^\d+$/.test(pid)) {
        throw invalidArgument(`Unexpected pid '${pid}': it is not a number`);
      }
      isOurs = pids.has(Number(pid));
    }
    if (isOurs) {
      // The last column may hold blanks.
      const last = words.slice(Titles.length - 1).join(' ');
      Processes.push([...words.slice(0, Titles.length - 1), last]);
    }
  }
  return { Processes, Titles };
}

/** Separated by blanks of ASCII only: a container may name its processes in Unicode ones. */
function fields(line: string): string[] {
  return line.split(/[ \t\n\r\f\v]+/).filter((word) => word !== '');
}
