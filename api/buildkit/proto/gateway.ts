import {
  bytes,
  field,
  flag,
  mapped,
  mappedIfThere,
  message,
  nested,
  number,
  optional,
  repeated,
  text,
  type ValueOf,
} from '../../../daemon/base/wire/protobuf.ts';
import { vertexWarning } from './control.ts';
import { definition, platform, status, workerRecord } from './common.ts';
import { stat } from './session.ts';
import { sourcePolicy } from './source-policy.ts';

/** Messages of `moby.buildkit.v1.frontend.LLBBridge` (frontend/gateway/pb/gateway.proto of BuildKit). */
const ref = message({ id: field(1, text), def: optional(2, nested(definition)) });
const refMap = message({ refs: mapped(1, nested(ref)) });

/** What a frontend made: one reference, or one for each platform. */
const result = message({
  oldRef: field(1, text),
  ref: optional(3, nested(ref)),
  refs: optional(4, nested(refMap)),
  metadata: mapped(10, bytes),
});
export type RefMessage = ValueOf<typeof ref>;
export type ResultMessage = ValueOf<typeof result>;

const capability = message({ id: field(1, text), enabled: field(2, flag) });
export const pongResponse = message({
  frontend: repeated(1, nested(capability)),
  llb: repeated(2, nested(capability)),
  workers: repeated(3, nested(workerRecord)),
});

const cacheEntry = message({ type: field(1, text), attrs: mapped(2, text) });
export const gatewaySolveRequest = message({
  definition: optional(1, nested(definition)),
  frontend: field(2, text),
  frontendOpt: mapped(3, text),
  allowResultReturn: field(5, flag),
  cacheImports: repeated(12, nested(cacheEntry)),
  frontendInputs: mappedIfThere(13, nested(definition)),
  evaluate: field(14, flag),
  sourcePolicies: repeated(15, nested(sourcePolicy)),
});
export const gatewaySolveResponse = message({ oldRef: field(1, text), result: optional(3, nested(result)) });

export const returnRequest = message({
  result: optional(1, nested(result)),
  error: optional(2, nested(status)),
});

export const resolveImageRequest = message({
  ref: field(1, text),
  platform: optional(2, nested(platform)),
  resolveMode: field(3, text),
  logName: field(4, text),
  sourcePolicies: repeated(8, nested(sourcePolicy)),
});
export const resolveImageResponse = message({
  digest: field(1, text),
  config: field(2, bytes),
  /** What it has become by a policy. */
  ref: field(3, text),
});

const fileRange = message({ offset: field(1, number), length: field(2, number) });
export const readFileRequest = message({
  ref: field(1, text),
  path: field(2, text),
  range: optional(3, nested(fileRange)),
  /** Of a container: its position among those that were asked for. */
  mountIndex: field(4, number),
});
export const readFileResponse = message({ data: field(1, bytes) });
export const readDirRequest = message({
  ref: field(1, text),
  path: field(2, text),
  includePattern: field(3, text),
  mountIndex: field(4, number),
});
export const readDirResponse = message({ entries: repeated(1, nested(stat)) });
export const statFileRequest = message({
  ref: field(1, text),
  path: field(2, text),
  mountIndex: field(3, number),
});
export const statFileResponse = message({ stat: optional(1, nested(stat)) });
export const evaluateRequest = message({ ref: field(1, text) });
/** As it is told, but that it goes to nobody yet. */
export const warnRequest = vertexWarning;
export const inputsResponse = message({ definitions: mapped(1, nested(definition)) });
