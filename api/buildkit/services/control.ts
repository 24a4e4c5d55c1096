import type {
  BuildkitPort,
  BuildWorker,
  CachePruning,
  SolveRequest,
  UsageEntry,
} from '../../types/build/ports.ts';
import { empty, infoResponse, type workerRecord } from '../proto/common.ts';
import {
  diskUsageRequest,
  diskUsageResponse,
  listWorkersResponse,
  pruneRequest,
  solveRequest,
  solveResponse,
  statusRequest,
  statusResponse,
  usageRecord,
  type SolveMessage,
} from '../proto/control.ts';
import type { Sparse, ValueOf } from '../../../daemon/base/wire/protobuf.ts';
import type { RpcMethod } from '../rpc/server.ts';
import { definitionOf, inputsOf } from './definition.ts';
import { asBuild } from './errors.ts';
import { streaming, unary } from './method.ts';
import { timestampOf, updateMessage } from './updates.ts';

const NANOS_PER_MS = 1_000_000n;

/** `moby.buildkit.v1.Control`. A history of builds is not kept: clients take unknown methods for that. */
export function controlMethods(port: BuildkitPort): [string, RpcMethod][] {
  const methods: [string, RpcMethod][] = [
    [
      'ListWorkers',
      unary(empty, listWorkersResponse, () => Promise.resolve({ records: [workerMessage(port.worker())] })),
    ],
    [
      'Info',
      unary(empty, infoResponse, () =>
        Promise.resolve({ version: { package: 'berth', version: `v${port.worker().version}` } }),
      ),
    ],
    [
      'Solve',
      unary(solveRequest, solveResponse, async (request, { signal }) => ({
        exporterResponse: new Map(await asBuild(port.solve(solveOf(request), signal))),
      })),
    ],
    [
      'Status',
      streaming(statusRequest, statusResponse, async function* ({ ref }, { signal }) {
        for await (const update of port.status(ref, signal)) {
          yield updateMessage(update);
        }
      }),
    ],
    [
      'DiskUsage',
      unary(diskUsageRequest, diskUsageResponse, async ({ filters }) => {
        return { records: (await port.usage(filters)).map((entry) => usageMessage(entry)) };
      }),
    ],
    [
      'Prune',
      streaming(pruneRequest, usageRecord, async function* (request) {
        for (const entry of await port.prune(pruningOf(request))) {
          yield usageMessage(entry);
        }
      }),
    ],
  ];
  return methods.map(([name, method]) => [`/moby.buildkit.v1.Control/${name}`, method]);
}

export function workerMessage({ id, platforms }: BuildWorker): Sparse<ValueOf<typeof workerRecord>> {
  return { id, platforms: platforms.map(({ variant = '', ...platform }) => ({ ...platform, variant })) };
}

function solveOf(request: SolveMessage): SolveRequest {
  const { ref, session, frontend, frontendAttrs, cache, entitlements, definition, frontendInputs } = request;
  const old = request.exporter === '' ? [] : [{ type: request.exporter, attributes: request.exporterAttrs }];
  const exporters = request.exporters.map(({ type, attrs }) => ({ type, attributes: attrs }));
  return {
    ref,
    session,
    frontend,
    attributes: frontendAttrs,
    exporters: exporters.length > 0 ? exporters : old,
    cacheExports: cache.exports.map(({ type, attrs }) => ({ type, attributes: attrs })),
    cacheImports: cache.imports.map(({ type, attrs }) => ({ type, attributes: attrs })),
    entitlements,
    ...definitionOf(definition),
    inputs: inputsOf(frontendInputs),
  };
}

function pruningOf(request: ValueOf<typeof pruneRequest>): CachePruning {
  return {
    filters: request.filters,
    isAll: request.all,
    unusedMs: Number(request.keepDuration / NANOS_PER_MS),
    reservedBytes: request.reservedSpace,
    usedBytesMax: request.maxUsedSpace,
    freeBytesMin: request.minFreeSpace,
  };
}

function usageMessage(entry: UsageEntry): Sparse<ValueOf<typeof usageRecord>> {
  const { id, bytes, type, createdMs, lastUsedMs, usageCount, description, inUse } = entry;
  return {
    id,
    size: bytes,
    inUse,
    description,
    usageCount,
    recordType: type,
    mutable: entry.isMutable,
    shared: entry.isShared,
    parents: [...entry.parents],
    createdAt: momentOf(createdMs),
    ...(lastUsedMs !== undefined && { lastUsedAt: momentOf(lastUsedMs) }),
  };
}

function momentOf(ms: number): ReturnType<typeof timestampOf> {
  return timestampOf(BigInt(Math.trunc(ms)) * NANOS_PER_MS);
}
