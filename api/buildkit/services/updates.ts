import { invalidArgument } from '../../../daemon/base/errors.ts';
import { limits } from '../../../daemon/base/limits.ts';
import type { Sparse, ValueOf } from '../../../daemon/base/wire/protobuf.ts';
import type { BuildUpdate, BuildVertex, BuildVertexStatus, BuildWarning } from '../../types/build/status.ts';
import type { timestamp } from '../proto/common.ts';
import { statusResponse, type vertexWarning } from '../proto/control.ts';

const NANOS = 1_000_000_000n;

export function timestampOf(nano: bigint): ValueOf<typeof timestamp> {
  return { seconds: Number(nano / NANOS), nanos: Number(nano % NANOS) };
}

/** What a build has reported, as `StatusResponse`. */
export function updateMessage({
  vertexes,
  statuses,
  logs,
  warnings,
}: BuildUpdate): Sparse<ValueOf<typeof statusResponse>> {
  return {
    vertexes: vertexes.map((vertex) => vertexMessage(vertex)),
    statuses: statuses.map((status) => statusMessage(status)),
    logs: logs.map(({ vertex, at, stream, data }) => ({ vertex, timestamp: timestampOf(at), stream, data })),
    warnings: warnings.map((warning) => warningMessage(warning)),
  };
}

function vertexMessage({ digest, name, inputs, cached, started, completed, error }: BuildVertex): object {
  return {
    digest,
    name,
    inputs: [...inputs],
    cached,
    error,
    ...(started !== undefined && { started: timestampOf(started) }),
    ...(completed !== undefined && { completed: timestampOf(completed) }),
  };
}

function statusMessage({ id, vertex, current, total, at, started, completed }: BuildVertexStatus): object {
  return {
    id,
    vertex,
    current,
    total,
    timestamp: timestampOf(at),
    started: timestampOf(started),
    ...(completed !== undefined && { completed: timestampOf(completed) }),
  };
}

/** Each line is a range, as BuildKit's frontend has them. */
function warningMessage({ vertex, level = 1, short, detail, url, source, lines }: BuildWarning): object {
  const numbers = lines.flatMap(({ from, to }) =>
    Array.from({ length: to - from + 1 }, (_, at) => from + at),
  );
  const { filename, data, language = 'Dockerfile' } = source;
  return {
    vertex,
    level,
    short: Buffer.from(short),
    detail: [Buffer.from(detail)],
    url,
    info: { filename, data: Buffer.from(data), language },
    ranges: numbers.map((line) => ({ start: { line }, end: { line } })),
  };
}

/** What a client warns of. Throws invalid_argument for places that are none. */
export function warningOf(message: ValueOf<typeof vertexWarning>): BuildWarning {
  const { vertex, level, short, detail, url, info, ranges } = message;
  const lines = ranges.map(({ start, end }) => ({ from: start.line, to: Math.max(start.line, end.line) }));
  const count = lines.reduce((sum, { from, to }) => sum + to - from + 1, 0);
  if (count > limits.warningLinesMax || lines.some(({ from }) => from < 0)) {
    throw invalidArgument(`ranges: more than ${limits.warningLinesMax} lines, or none that there are`);
  }
  const { filename, data, language } = info;
  return {
    vertex,
    level,
    short: short.toString('utf8'),
    detail: detail.join('\n'),
    url,
    source: { filename, data: data.toString('utf8'), language },
    lines,
  };
}

/** The same as text, for answers that are JSON. */
export function traceOf(update: BuildUpdate): string {
  return statusResponse.encode(updateMessage(update)).toString('base64');
}
