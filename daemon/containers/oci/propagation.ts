import { readFileSync, realpathSync } from 'node:fs';
import { invalidArgument } from '../../base/errors.ts';
import type { ResolvedMount } from '../request/mounts/resolved-mount.ts';

/**
 * A bind propagates mounts only if the host's mount below it does (mount_namespaces(7)). Throws invalid_argument with
 * dockerd's text where one does not; the runtime would start it and silently propagate nothing.
 */
export function checkPropagation(mounts: readonly ResolvedMount[]): void {
  const binds = mounts.flatMap((mount) =>
    mount.type === 'bind' && /(?:shared|slave)$/.test(mount.propagation) ? [mount] : [],
  );
  if (binds.length === 0) {
    return;
  }
  const mountinfo = readFileSync('/proc/self/mountinfo', 'utf8');
  for (const { source, propagation } of binds) {
    const problem = propagationProblem(realpathSync(source), propagation, mountinfo);
    if (problem !== undefined) {
      throw invalidArgument(problem);
    }
  }
}

/** Why mounts at `source` cannot have this propagation; undefined when they can. Pure. */
export function propagationProblem(
  source: string,
  propagation: string,
  mountinfo: string,
): string | undefined {
  let [mountPoint, fields] = ['', ''];
  for (const line of mountinfo.split('\n')) {
    const words = (line.split(' - ', 1)[0] ?? '').split(' ');
    const candidate = unescape(words[4] ?? '');
    // Later entries lie on top of earlier ones, so an equal length wins too.
    if (candidate.length >= mountPoint.length && isBelow(source, candidate)) {
      [mountPoint, fields] = [candidate, words.slice(6).join(' ')];
    }
  }
  const isShared = /(?:^| )shared:/.test(fields);
  if (propagation.endsWith('shared')) {
    return isShared ? undefined : `path ${source} is mounted on ${mountPoint} but it is not a shared mount`;
  }
  return isShared || /(?:^| )master:/.test(fields)
    ? undefined
    : `path ${source} is mounted on ${mountPoint} but it is not a shared or slave mount`;
}

function isBelow(path: string, directory: string): boolean {
  return directory !== '' && (directory === '/' || path === directory || path.startsWith(`${directory}/`));
}

/** mountinfo writes blanks and their like as three octal digits. */
function unescape(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}
