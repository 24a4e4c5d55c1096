import type { LogMessage } from '../../../daemon/base/log-message.ts';

/** As PutLogEvents takes them. */
export interface LogEvent {
  message: string;
  /** Milliseconds since the epoch. */
  timestamp: number;
}

/** Bounds of PutLogEvents (CloudWatch Logs API reference). */
const EVENT_OVERHEAD_BYTES = 26;
const EVENT_BYTES_MAX = 262_144 - EVENT_OVERHEAD_BYTES;
const REQUEST_BYTES_MAX = 1_048_576;
const REQUEST_EVENTS_MAX = 10_000;

/**
 * Events of messages: one for each, or with `isFirstLine` one for each first line with the lines that follow it. Lines
 * are put together within one batch. Empty ones are left out: the service refuses them. Pure.
 */
export function events(
  messages: readonly LogMessage[],
  isFirstLine: ((line: string) => boolean) | undefined,
): LogEvent[] {
  const all: { text: string; nano: bigint }[] = [];
  for (const { line, nano } of messages) {
    const text = line.toString();
    const last = all.at(-1);
    if (isFirstLine === undefined) {
      all.push({ text, nano });
    } else if (last === undefined || isFirstLine(text)) {
      all.push({ text: `${text}\n`, nano });
    } else {
      last.text += `${text}\n`;
    }
  }
  return all
    .flatMap(({ text, nano }) =>
      cut(text).map((message) => ({ message, timestamp: Number(nano / 1_000_000n) })),
    )
    .toSorted((a, b) => a.timestamp - b.timestamp);
}

/** Pieces that fit an event, cut between characters. */
function cut(text: string): string[] {
  const pieces: string[] = [];
  let rest = Buffer.from(text);
  while (rest.length > 0) {
    let end = Math.min(rest.length, EVENT_BYTES_MAX);
    // A byte 10xxxxxx continues a character.
    while (end < rest.length && end > 0 && ((rest[end] ?? 0) & 0xc0) === 0x80) {
      end -= 1;
    }
    pieces.push(rest.toString('utf8', 0, end));
    rest = rest.subarray(end);
  }
  return pieces;
}

/** Events in requests that the service takes. Pure. */
export function requests(all: readonly LogEvent[]): LogEvent[][] {
  const found: LogEvent[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const event of all) {
    const size = Buffer.byteLength(event.message) + EVENT_OVERHEAD_BYTES;
    if (bytes + size > REQUEST_BYTES_MAX || (found.at(-1)?.length ?? 0) >= REQUEST_EVENTS_MAX) {
      found.push([]);
      bytes = 0;
    }
    found.at(-1)?.push(event);
    bytes += size;
  }
  return found;
}

/** What each sequence of strftime stands for, in the pattern language of the original's documentation. */
const SEQUENCES: Readonly<Record<string, string>> = {
  '%a': '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)',
  '%A': '(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)',
  '%b': '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)',
  '%B': '(?:January|February|March|April|May|June|July|August|September|October|November|December)',
  '%w': '[0-6]',
  '%d': '(?:0[1-9]|[12][0-9]|3[01])',
  '%m': '(?:0[1-9]|1[0-2])',
  '%Y': '\\d{4}',
  '%y': '\\d{2}',
  '%H': '(?:[01][0-9]|2[0-3])',
  '%I': '(?:0[0-9]|1[0-2])',
  '%p': '[AP]M',
  '%M': '[0-5][0-9]',
  '%S': '[0-5][0-9]',
  '%f': '\\d{6}',
  '%z': '[+-]\\d{4}',
  '%Z': '[A-Z]{1,4}T',
  '%j': '(?:0[0-9][1-9]|[12][0-9][0-9]|3[0-5][0-9]|36[0-6])',
  '%L': '\\.\\d{3}',
};

/** The expression that finds such a date in a line. Pure. */
export function datetimePattern(format: string): string {
  return format.replaceAll(/%./g, (sequence) => SEQUENCES[sequence] ?? '');
}
