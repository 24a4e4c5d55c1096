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
import { notImplemented } from '../../../daemon/base/errors.ts';
import type { Sparse, ValueOf } from '../../../daemon/base/wire/protobuf.ts';
import type { Metadata } from '../rpc/metadata.ts';
import type { RpcMethod } from '../rpc/server.ts';
import { definitionOf, inputsOf } from './definition.ts';
import { asBuild } from './errors.ts';
import { historyMethods } from './history.ts';
import { asItIs, streaming, unary } from './method.ts';
import { policyOf } from './source-policy.ts';
import { timestampOf, updateMessage } from './updates.ts';

const NANOS_PER_MS = 1_000_000n;

/** `moby.buildkit.v1.Control`. */
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
      unary(solveRequest, solveResponse, async (request, { metadata, signal }) => ({
        exporterResponse: new Map(await asBuild(port.solve(solveOf(request, metadata), signal))),
      })),
    ],
    [
      'Status',
      streaming(statusRequest, asItIs, async function* ({ ref }, { signal }) {
        for await (const update of port.status(ref, signal)) {
          yield Buffer.isBuffer(update) ? update : statusResponse.encode(updateMessage(update));
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
    ...historyMethods(port.history),
  ];
  return methods.map(([name, method]) => [`/moby.buildkit.v1.Control/${name}`, method]);
}

/** Labels are dockerd's (moby builder-next/worker/label). */
export function workerMessage({
  id,
  platforms,
  hostGateway,
  policy,
}: BuildWorker): Sparse<ValueOf<typeof workerRecord>> {
  return {
    id,
    labels: new Map([
      // By this one clients know an engine that pushes itself, has archives, caches and several platforms at once.
      ['org.mobyproject.buildkit.worker.snapshotter', 'overlayfs'],
      ...(hostGateway === undefined
        ? []
        : [['org.mobyproject.buildkit.worker.moby.host-gateway-ip', hostGateway] as const]),
    ]),
    platforms: platforms.map(({ variant = '', ...platform }) => ({ ...platform, variant })),
    gcPolicy: policy.map(({ isAll, filters, unusedMs, reservedBytes, usedBytesMax, freeBytesMin }) => ({
      all: isAll,
      keepDuration: BigInt(Math.trunc(unusedMs)) * NANOS_PER_MS,
      reservedSpace: reservedBytes,
      filters: [...filters],
      maxUsedSpace: usedBytesMax,
      minFreeSpace: freeBytesMin,
    })),
  };
}

function solveOf(request: SolveMessage, metadata: Metadata): SolveRequest {
  refuseOthers(request);
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
    isInternal: request.internal,
    hasSessionExporters: request.enableSessionExporter,
    policies: request.sourcePolicy === undefined ? [] : [policyOf(request.sourcePolicy)],
    policySession: request.sourcePolicySession,
    trace: traceParentOf(metadata),
  };
}

/** What newer clients ask for, and results would be others without. Throws not_implemented that names it. */
function refuseOthers({ compatibilityVersion, proxyNetwork }: SolveMessage): void {
  if (compatibilityVersion !== 0) {
    throw notImplemented(
      `compatibility-version ${compatibilityVersion} is not supported: no such version is`,
    );
  }
  if (proxyNetwork) {
    throw notImplemented('proxy-network is not supported: commands have the network itself');
  }
}

/** `00-<trace>-<span>-<flags>` (https://www.w3.org/TR/trace-context). */
function traceParentOf(metadata: Metadata): SolveRequest['trace'] {
  const [, trace, span] =
    /^[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-[\da-f]{2}/.exec(metadata.get('traceparent')?.[0] ?? '') ?? [];
  return trace === undefined || span === undefined ? undefined : { trace, span };
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
