import {
  bytes,
  field,
  flag,
  long,
  mapped,
  message,
  nested,
  number,
  repeated,
  text,
} from '../../../daemon/base/wire/protobuf.ts';

/** What several services use (google/protobuf, google/rpc, solver/pb/ops.proto, api/types/worker.proto of BuildKit). */
export const timestamp = message({ seconds: field(1, number), nanos: field(2, number) });

export const empty = message({});

export const bytesMessage = message({ data: field(1, bytes) });

const any = message({ typeUrl: field(1, text), value: field(2, bytes) });
export const status = message({
  code: field(1, number),
  message: field(2, text),
  details: repeated(3, nested(any)),
});

/** The graph itself is read by the builds (daemon/build/llb). */
const position = message({ line: field(1, number) });
const range = message({ start: field(1, nested(position)), end: field(2, nested(position)) });
const location = message({ sourceIndex: field(1, number), ranges: repeated(2, nested(range)) });
const sourceInfo = message({ filename: field(1, text), data: field(2, bytes) });
const operationNotes = message({
  ignoreCache: field(1, flag),
  description: mapped(2, text),
  caps: mapped(5, flag),
});
export const definition = message({
  def: repeated(1, bytes),
  metadata: mapped(2, nested(operationNotes)),
  source: field(
    3,
    nested(
      message({
        locations: mapped(1, nested(message({ locations: repeated(1, nested(location)) }))),
        infos: repeated(2, nested(sourceInfo)),
      }),
    ),
  ),
});

export const platform = message({
  architecture: field(1, text),
  os: field(2, text),
  variant: field(3, text),
});

/** `keepDuration` in nanoseconds. */
const gcPolicy = message({
  all: field(1, flag),
  keepDuration: field(2, long),
  reservedSpace: field(3, number),
  filters: repeated(4, text),
  maxUsedSpace: field(5, number),
  minFreeSpace: field(6, number),
});

const buildkitVersion = message({
  package: field(1, text),
  version: field(2, text),
  revision: field(3, text),
});

export const workerRecord = message({
  id: field(1, text),
  labels: mapped(2, text),
  platforms: repeated(3, nested(platform)),
  gcPolicy: repeated(4, nested(gcPolicy)),
});

export const infoResponse = message({ version: field(1, nested(buildkitVersion)) });
