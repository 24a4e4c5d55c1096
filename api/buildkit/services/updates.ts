import type { Sparse, ValueOf } from '../../../daemon/base/wire/protobuf.ts';
import type { BuildUpdate, BuildVertex, BuildVertexStatus, BuildWarning } from '../../types/build/status.ts';
import type { timestamp } from '../proto/common.ts';
import { statusResponse } from '../proto/control.ts';

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

/** Clients show those of level 1. Each line is a range, as BuildKit's frontend has them. */
function warningMessage({ vertex, short, detail, url, source, lines }: BuildWarning): object {
  const numbers = Array.from({ length: lines.to - lines.from + 1 }, (_, at) => lines.from + at);
  return {
    vertex,
    level: 1,
    short: Buffer.from(short),
    detail: [Buffer.from(detail)],
    url,
    info: { filename: source.filename, data: Buffer.from(source.data), language: 'Dockerfile' },
    ranges: numbers.map((line) => ({ start: { line }, end: { line } })),
  };
}

/** The same as text, for answers that are JSON. */
export function traceOf(update: BuildUpdate): string {
  return statusResponse.encode(updateMessage(update)).toString('base64');
}
