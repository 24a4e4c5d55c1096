import { KINDS, type Asked } from './clients.ts';

/** What was done to the application, and how long it lasted. */
export interface Happening {
  title: string;
  /** Milliseconds since 1970. */
  from: number;
  to: number;
  /** A node that was off the network itself, and while: what was asked of it then is not counted. */
  gone?: { node: number; from: number; to: number };
}

export interface Count {
  all: number;
  wrong: Asked[];
  /** The longest that an answered request took, in milliseconds. */
  longestMs: number;
}

export type Counts = Record<Asked['kind'], Count>;

/** Longer than any request takes. */
const REQUEST_MS = 15_000;

/** Requests that began while something happened, by kind. */
export function countsOf(happening: Happening, asked: readonly Asked[]): Counts {
  const during = asked.filter((one) => isCounted(happening, one));
  const of = (kind: Asked['kind']): Count => {
    const all = during.filter((one) => one.kind === kind);
    const wrong = all.filter((one) => one.wrong !== null);
    const answered = all.filter((one) => one.wrong === null).map(({ ms }) => ms);
    return { all: all.length, wrong, longestMs: Math.max(0, ...answered) };
  };
  return { page: of('page'), vote: of('vote'), result: of('result') };
}

function isCounted({ from, to, gone }: Happening, { at, node }: Asked): boolean {
  const began = at * 1000;
  // Also what was under way when its cable was pulled.
  const isGone =
    gone !== undefined && gone.node === node && began >= gone.from - REQUEST_MS && began < gone.to;
  return began >= from && began < to && !isGone;
}

/** Reasons of failed requests with their numbers, by kind and node, for people. */
export function reasonsOf(counts: Counts): string[] {
  const numbers = new Map<string, number>();
  for (const { node, kind, wrong } of KINDS.flatMap((each) => counts[each].wrong)) {
    const key = `${kind} through n${node}: ${wrong}`;
    numbers.set(key, (numbers.get(key) ?? 0) + 1);
  }
  return [...numbers].map(([key, number]) => `${key}: ${number}`).toSorted();
}

/** A row of the table: failed of all, and the longest answer. */
export function row(happening: Happening, counts: Counts): string {
  const cells = KINDS.map((kind) => {
    const { all, wrong, longestMs } = counts[kind];
    return `${wrong.length} of ${all}, ${(longestMs / 1000).toFixed(1)} s`;
  });
  const seconds = ((happening.to - happening.from) / 1000).toFixed(0);
  return `| ${[happening.title, `${seconds} s`, ...cells].join(' | ')} |`;
}

export const HEAD = `| what happened | lasted | pages | votes | results |\n|---|---|---|---|---|`;
