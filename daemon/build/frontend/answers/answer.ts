import type { Lines } from '../../../base/dockerfile/instruction.ts';

/** What a client gets instead of a build, by BuildKit's names: `result.json`, `result.txt`, `version`. */
export type Answer = ReadonlyMap<string, Buffer>;

/** Of the answers of BuildKit's frontend (frontend/subrequests). */
export const ANSWER_VERSION = '1.0.0';

/** Where a Dockerfile's text is. */
export interface Source {
  filename: string;
  text: string;
}

export function answer(value: object, shown: string, more: Readonly<Record<string, string>> = {}): Answer {
  const parts = {
    'result.json': JSON.stringify(value, undefined, 2),
    'result.txt': shown,
    version: ANSWER_VERSION,
  };
  return new Map(Object.entries({ ...parts, ...more }).map(([name, text]) => [name, Buffer.from(text)]));
}

export interface Range {
  start: { line: number };
  end: { line: number };
}

/** Each line is a range of its own, as BuildKit has them. */
export function rangesOf({ from, to }: Lines): Range[] {
  return Array.from({ length: Math.max(to - from, 0) + 1 }, (_, at) => ({
    start: { line: from + at },
    end: { line: from + at },
  }));
}

export function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
