import { invalidArgument } from '../../../daemon/base/errors.ts';
import type { BuildkitPort, BuildWorker, SolveRequest, UsageEntry } from '../../types/build/ports.ts';
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
        exporterResponse: new Map(await port.solve(solveOf(request), signal)),
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
        refuseFilters(filters, []);
        return { records: (await port.usage()).map((entry) => usageMessage(entry)) };
      }),
    ],
    [
      'Prune',
      streaming(pruneRequest, usageRecord, async function* (request) {
        for (const entry of await port.prune(pruneFilters(request))) {
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
    cacheExports: cache.exports.map(({ type }) => type),
    entitlements,
    hasDefinition: (definition?.def.length ?? 0) > 0 || frontendInputs.size > 0,
  };
}

function pruneFilters(request: ValueOf<typeof pruneRequest>): Map<string, string[]> {
  refuseFilters(request.filters, ['id']);
  for (const name of ['reservedSpace', 'maxUsedSpace', 'minFreeSpace'] as const) {
    if (request[name] !== 0) {
      throw invalidArgument(`${name} is not supported: what a later build may use is kept`);
    }
  }
  const filters = new Map(request.filters.map((text): [string, string[]] => splitFilter(text)));
  if (request.keepDuration > 0n) {
    filters.set('until', [`${request.keepDuration / NANOS_PER_MS}ms`]);
  }
  return filters;
}

/** `name==value` or `name=value`, as containerd's filters are. */
function splitFilter(text: string): [string, string[]] {
  const [, name = text, value = ''] = /^([^=~]+)={1,2}(.*)$/s.exec(text) ?? [];
  return [name, [value]];
}

function refuseFilters(filters: readonly string[], known: readonly string[]): void {
  const wrong = filters.find((text) => !known.includes(splitFilter(text)[0]));
  if (wrong !== undefined) {
    throw invalidArgument(`filter ${wrong} is not supported`);
  }
}

function usageMessage({
  id,
  bytes,
  createdMs,
  description,
  inUse,
}: UsageEntry): Sparse<ValueOf<typeof usageRecord>> {
  return {
    id,
    size: bytes,
    inUse,
    description,
    recordType: id === 'contexts' ? 'source.local' : 'regular',
    createdAt: timestampOf(BigInt(Math.trunc(createdMs)) * NANOS_PER_MS),
  };
}
