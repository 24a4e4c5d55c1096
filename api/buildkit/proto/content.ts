import {
  bytes,
  field,
  mapped,
  message,
  nested,
  number,
  optional,
  text,
  view,
} from '../../../daemon/base/wire/protobuf.ts';

/** Messages of `containerd.services.content.v1.Content` (api/services/content/v1/content.proto of containerd). */
const info = message({ digest: field(1, text), size: field(2, number) });
export const infoRequest = message({ digest: field(1, text) });
export const contentInfoResponse = message({ info: optional(1, nested(info)) });

export const readContentRequest = message({
  digest: field(1, text),
  offset: field(2, number),
  size: field(3, number),
});
export const readContentResponse = message({ offset: field(1, number), data: field(2, view) });

/** What a message of a write is for. */
export const WRITE = { stat: 0, write: 1, commit: 2 } as const;

export const writeContentRequest = message({
  action: field(1, number),
  ref: field(2, text),
  total: field(3, number),
  expected: field(4, text),
  offset: field(5, number),
  data: field(6, bytes),
  labels: mapped(7, text),
});
export const writeContentResponse = message({
  action: field(1, number),
  offset: field(4, number),
  total: field(5, number),
  digest: field(6, text),
});
