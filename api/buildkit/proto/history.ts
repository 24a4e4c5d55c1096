import {
  field,
  flag,
  mapped,
  message,
  nested,
  number,
  optional,
  repeated,
  text,
} from '../../../daemon/base/wire/protobuf.ts';
import { status, timestamp } from './common.ts';

/** Messages of the history of builds (api/services/control/control.proto of BuildKit 0.11 to 0.32). */
export const historyRequest = message({
  activeOnly: field(1, flag),
  ref: field(2, text),
  earlyExit: field(3, flag),
  filters: repeated(4, text),
  limit: field(5, number),
});

const descriptor = message({
  mediaType: field(1, text),
  digest: field(2, text),
  size: field(3, number),
  annotations: mapped(5, text),
});
const resultInfo = message({ attestations: repeated(2, nested(descriptor)) });
const exporter = message({ type: field(1, text), attrs: mapped(2, text) });

export const historyRecord = message({
  ref: field(1, text),
  frontend: field(2, text),
  frontendAttrs: mapped(3, text),
  exporters: repeated(4, nested(exporter)),
  error: optional(5, nested(status)),
  createdAt: optional(6, nested(timestamp)),
  completedAt: optional(7, nested(timestamp)),
  logs: optional(8, nested(descriptor)),
  exporterResponse: mapped(9, text),
  result: optional(10, nested(resultInfo)),
  results: mapped(11, nested(resultInfo)),
  generation: field(12, number),
  trace: optional(13, nested(descriptor)),
  pinned: field(14, flag),
  numCachedSteps: field(15, number),
  numTotalSteps: field(16, number),
  numCompletedSteps: field(17, number),
  externalError: optional(18, nested(descriptor)),
  numWarnings: field(19, number),
});

export const EVENT = { started: 0, complete: 1, deleted: 2 } as const;
export const historyEvent = message({ type: field(1, number), record: optional(2, nested(historyRecord)) });

export const updateHistoryRequest = message({
  ref: field(1, text),
  pinned: field(2, flag),
  delete: field(3, flag),
  finalize: field(4, flag),
});
