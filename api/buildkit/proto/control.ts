import {
  bytes,
  field,
  flag,
  long,
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
import { definition, timestamp, workerRecord } from './common.ts';
import { exporter } from './session.ts';
import { sourcePolicy } from './source-policy.ts';

/** Messages of `moby.buildkit.v1.Control` (api/services/control/control.proto of BuildKit 0.6 to 0.32). */
const cacheEntry = message({ type: field(1, text), attrs: mapped(2, text) });
const cacheOptions = message({
  exports: repeated(4, nested(cacheEntry)),
  imports: repeated(5, nested(cacheEntry)),
});

export const solveRequest = message({
  ref: field(1, text),
  definition: optional(2, nested(definition)),
  /** Of clients before 0.13; newer ones fill `exporters` as well. */
  exporter: field(3, text),
  exporterAttrs: mapped(4, text),
  session: field(5, text),
  frontend: field(6, text),
  frontendAttrs: mapped(7, text),
  cache: field(8, nested(cacheOptions)),
  entitlements: repeated(9, text),
  frontendInputs: mappedIfThere(10, nested(definition)),
  internal: field(11, flag),
  sourcePolicy: optional(12, nested(sourcePolicy)),
  exporters: repeated(13, nested(exporter)),
  enableSessionExporter: field(14, flag),
  sourcePolicySession: field(15, text),
  compatibilityVersion: field(16, number),
  proxyNetwork: field(17, flag),
});
export type SolveMessage = ValueOf<typeof solveRequest>;

export const solveResponse = message({ exporterResponse: mapped(1, text) });

export const statusRequest = message({ ref: field(1, text) });

const vertex = message({
  digest: field(1, text),
  inputs: repeated(2, text),
  name: field(3, text),
  cached: field(4, flag),
  started: optional(5, nested(timestamp)),
  completed: optional(6, nested(timestamp)),
  error: field(7, text),
});
const vertexStatus = message({
  id: field(1, text),
  vertex: field(2, text),
  name: field(3, text),
  current: field(4, number),
  total: field(5, number),
  timestamp: field(6, nested(timestamp)),
  started: optional(7, nested(timestamp)),
  completed: optional(8, nested(timestamp)),
});
const vertexLog = message({
  vertex: field(1, text),
  timestamp: field(2, nested(timestamp)),
  stream: field(3, number),
  data: field(4, bytes),
});
const position = message({ line: field(1, number), character: field(2, number) });
const range = message({ start: field(1, nested(position)), end: field(2, nested(position)) });
const sourceInfo = message({ filename: field(1, text), data: field(2, bytes), language: field(4, text) });
export const vertexWarning = message({
  vertex: field(1, text),
  level: field(2, number),
  short: field(3, bytes),
  detail: repeated(4, bytes),
  url: field(5, text),
  info: field(6, nested(sourceInfo)),
  ranges: repeated(7, nested(range)),
});
export const statusResponse = message({
  vertexes: repeated(1, nested(vertex)),
  statuses: repeated(2, nested(vertexStatus)),
  logs: repeated(3, nested(vertexLog)),
  warnings: repeated(4, nested(vertexWarning)),
});

export const listWorkersResponse = message({ records: repeated(1, nested(workerRecord)) });

export const pruneRequest = message({
  filters: repeated(1, text),
  all: field(2, flag),
  keepDuration: field(3, long),
  reservedSpace: field(4, number),
  maxUsedSpace: field(5, number),
  minFreeSpace: field(6, number),
});
export const usageRecord = message({
  id: field(1, text),
  mutable: field(2, flag),
  inUse: field(3, flag),
  size: field(4, number),
  createdAt: field(6, nested(timestamp)),
  lastUsedAt: optional(7, nested(timestamp)),
  usageCount: field(8, number),
  description: field(9, text),
  recordType: field(10, text),
  shared: field(11, flag),
  parents: repeated(12, text),
});
export const diskUsageRequest = message({ filters: repeated(1, text), ageLimit: field(2, long) });
export const diskUsageResponse = message({ records: repeated(1, nested(usageRecord)) });
