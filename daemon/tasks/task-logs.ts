import type { Readable } from 'node:stream';
import type { StringMap } from '../../api/types/maps.ts';
import type { LogLine, LogSubscription } from '../../swarm/protocol/session.ts';
import { parseRfc3339Nano } from '../base/clock.ts';
import type { Clock } from '../base/clock.ts';
import { merged } from '../base/concurrency/merged.ts';
import { limits } from '../base/limits.ts';
import { FRAME_HEADER_BYTES, STREAM_NUMBER } from '../base/stdio/frames.ts';
import type { TaskContext } from './context.ts';
import { containersOf } from './task-containers.ts';

/**
 * Lines of the containers of tasks, in no order between tasks. It ends with them or, without `follow`, at the end of
 * what is there. A log that cannot be read does not keep others from being read: it is thrown at the end.
 */
export async function* logsOfTasks(
  context: TaskContext,
  subscription: LogSubscription,
  signal: AbortSignal,
): AsyncIterable<LogLine> {
  const failures: unknown[] = [];
  const each = async function* (task: string): AsyncIterable<LogLine> {
    try {
      yield* taskLogs(context, task, subscription, signal);
    } catch (error) {
      failures.push(error);
    }
  };
  yield* merged(subscription.tasks.map(each), signal);
  if (failures.length > 0 && !signal.aborted) {
    throw failures[0];
  }
}

async function* taskLogs(
  context: TaskContext,
  task: string,
  subscription: LogSubscription,
  signal: AbortSignal,
): AsyncIterable<LogLine> {
  const { follow, stdout, stderr, since, until, tail } = subscription;
  const container = await madeContainer(context, task, { follow, signal });
  if (container === undefined) {
    return;
  }
  const { tty, bytes } = await context.containers.logs(container, {
    follow,
    stdout,
    stderr,
    ...(since !== undefined && { since: BigInt(since) }),
    ...(until !== undefined && { until: BigInt(until) }),
    ...(tail !== undefined && { tail }),
    timestamps: true,
    details: true,
    signal,
  });
  const line = lineReader(task);
  for await (const { stream, piece } of tty ? rawLines(bytes) : frames(bytes)) {
    const read = line(stream, piece);
    if (read !== undefined) {
      yield read;
    }
  }
}

/** A task that is still being prepared has none: with `follow` it is waited for. */
async function madeContainer(
  context: TaskContext,
  task: string,
  { follow, signal }: { follow: boolean; signal: AbortSignal },
): Promise<string | undefined> {
  for (;;) {
    const [container] = await containersOf(context, task);
    if (container !== undefined || !follow || signal.aborted) {
      return container;
    }
    await passed(context.clock, limits.taskLogPollMs, signal);
  }
}

/** Resolves after this time, or when the signal fires. */
function passed(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      timer[Symbol.dispose]();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = clock.setTimeout(end, ms);
    signal.addEventListener('abort', end, { once: true });
  });
}

interface Piece {
  stream: 'stdout' | 'stderr';
  piece: Buffer;
}

async function* frames(bytes: Readable): AsyncIterable<Piece> {
  let held = Buffer.alloc(0);
  for await (const chunk of bytes) {
    // A stream of bytes has nothing else.
    held = Buffer.concat([held, chunk as Buffer]);
    let at = 0;
    while (held.length - at >= FRAME_HEADER_BYTES) {
      const end = at + FRAME_HEADER_BYTES + held.readUInt32BE(at + 4);
      if (end > held.length) {
        break;
      }
      const stream = held[at] === STREAM_NUMBER.stderr ? 'stderr' : 'stdout';
      yield { stream, piece: held.subarray(at + FRAME_HEADER_BYTES, end) };
      at = end;
    }
    held = Buffer.from(held.subarray(at));
  }
}

/** A terminal has one stream, of lines. */
async function* rawLines(bytes: Readable): AsyncIterable<Piece> {
  let held = Buffer.alloc(0);
  for await (const chunk of bytes) {
    // A stream of bytes has nothing else.
    held = Buffer.concat([held, chunk as Buffer]);
    for (let end = held.indexOf('\n'); end !== -1; end = held.indexOf('\n')) {
      yield { stream: 'stdout', piece: held.subarray(0, end + 1) };
      held = held.subarray(end + 1);
    }
  }
  if (held.length > 0) {
    yield { stream: 'stdout', piece: held };
  }
}

/** What is read of a piece: `TIME DETAILS LINE`, or the next part of a line that was too long for one. */
function lineReader(task: string): (stream: Piece['stream'], piece: Buffer) => LogLine | undefined {
  const begun = new Map<Piece['stream'], Pick<LogLine, 'at' | 'attributes'>>();
  return (stream, piece) => {
    const known = begun.get(stream);
    const { head, content } = known === undefined ? withHead(piece) : { head: known, content: piece };
    if (head === undefined) {
      return undefined;
    }
    if (content.at(-1) === 0x0a) {
      begun.delete(stream);
    } else {
      begun.set(stream, head);
    }
    return { task, stream, ...head, line: content.toString('base64') };
  };
}

function withHead(piece: Buffer): {
  head: Pick<LogLine, 'at' | 'attributes'> | undefined;
  content: Buffer;
} {
  const timeEnd = piece.indexOf(' ');
  const detailsEnd = piece.indexOf(' ', timeEnd + 1);
  const details = piece.toString('utf8', timeEnd + 1, detailsEnd);
  try {
    const at = parseRfc3339Nano(piece.toString('latin1', 0, timeEnd)).toString();
    const attributes = attributesOf(details);
    return {
      head: { at, ...(attributes && { attributes }) },
      content: piece.subarray(detailsEnd + 1),
    };
  } catch {
    // A line without its time is no line of a log: it belongs to nothing that is known.
    return { head: undefined, content: piece };
  }
}

/** `key=value,...`, each as in a query. */
function attributesOf(details: string): StringMap | undefined {
  return details === '' ? undefined : Object.fromEntries(new URLSearchParams(details.replaceAll(',', '&')));
}
