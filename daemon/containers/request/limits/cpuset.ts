import { invalidArgument } from '../../../base/errors.ts';

interface Range {
  first: number;
  last: number;
}

/** Digits that a CPU number can have; longer ones are no numbers a kernel knows. */
const RANGE = /^(\d{1,10})(?:-(\d{1,10}))?$/;

/**
 * Throws invalid_argument unless `list` (`0-3,8`, "" = no wish) is well formed and within `available`. Ranges are
 * compared, never counted out: `0-2147483647` once took a daemon down (CVE-2018-20699).
 */
export function checkCpuset(kind: 'CPUs' | 'memory nodes', list: string, available: string): void {
  const wanted = parseRanges(list);
  const there = parseRanges(available);
  if (wanted === undefined) {
    throw invalidArgument(
      `Invalid value ${list} for cpuset ${kind === 'CPUs' ? 'cpus' : 'mems'}: invalid format: ${list}`,
    );
  }
  if (there === undefined || !wanted.every((range) => isCovered(range, there))) {
    throw invalidArgument(`Requested ${kind} are not available - requested ${list}, available: ${available}`);
  }
}

function parseRanges(list: string): Range[] | undefined {
  if (list === '') {
    return [];
  }
  const ranges = list.split(',').map((text) => {
    const match = RANGE.exec(text);
    return { first: Number(match?.[1]), last: Number(match?.[2] ?? match?.[1]) };
  });
  return ranges.every(({ first, last }) => first <= last) ? ranges : undefined;
}

/** The kernel prints lists with neighbouring ranges joined, so one of them must hold the whole wish. */
function isCovered(wanted: Range, there: readonly Range[]): boolean {
  return there.some((range) => range.first <= wanted.first && wanted.last <= range.last);
}
