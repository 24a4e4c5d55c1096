import {
  bytes,
  field,
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

/** Of the definition of a graph only whether there is one is looked at so far. */
export const definition = message({ def: repeated(1, bytes) });

const platform = message({ architecture: field(1, text), os: field(2, text), variant: field(3, text) });

const gcPolicy = message({ keepDuration: field(2, number), filters: repeated(4, text) });

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
