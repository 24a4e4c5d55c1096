import { invalidArgument } from '../../daemon/base/errors.ts';
import type { HostConfig } from '../types/host-config.ts';
import type { BuildRequest } from '../types/ports.ts';
import type { Query } from '../query.ts';
import { buildBySession, uploadedBuild } from './build-session.ts';
import { registryAuths } from './registry-auth.ts';
import { empty, ok, route } from './route.ts';
import type { ServedRoute } from './route.ts';
import { defined } from './values.ts';

/** Building images (docs: api/docs/v1.24.md section 3.2). */
export const buildRoutes: readonly ServedRoute[] = [
  route({
    id: 'image.build',
    method: 'POST',
    path: '/build',
    body: { kind: 'bytes' },
    handler: async ({ query, bytes, header, signal }, { builds, buildkit }) => {
      const isBySession = query.text('version') === '2';
      const request = readRequest(query, header('x-registry-config'), { signal, isBySession });
      if (isBySession) {
        const uploaded = uploadedBuild(query);
        if (uploaded !== undefined) {
          await buildkit.upload(uploaded, bytes, signal);
          return empty(200);
        }
        const messages = buildBySession(buildkit, query, { request, body: bytes });
        return { kind: 'json-lines', messages, isTold: true };
      }
      return { kind: 'json-lines', messages: builds.build(bytes, request) };
    },
  }),
  route({
    id: 'image.buildPrune',
    method: 'POST',
    path: '/build/prune',
    handler: async ({ query }, { builds }) => {
      const bytes = (name: string): number => query.int(name) ?? 0;
      return ok(
        await builds.prune(query.filters(), {
          isAll: query.bool('all'),
          // `keep-storage` is what it was called before 1.48.
          reservedBytes: bytes('reserved-space') || bytes('keep-storage'),
          usedBytesMax: bytes('max-used-space'),
          freeBytesMin: bytes('min-free-space'),
        }),
      );
    },
  }),
];

function readRequest(
  query: Query,
  auths: string | undefined,
  { signal, isBySession }: { signal: AbortSignal; isBySession: boolean },
): BuildRequest {
  refuse(query, isBySession);
  return {
    remote: query.text('remote') ?? '',
    dockerfile: query.text('dockerfile') || 'Dockerfile',
    tags: query.texts('t').filter((name) => name !== ''),
    quiet: query.bool('q'),
    nocache: query.bool('nocache'),
    pull: query.bool('pull'),
    rm: query.bool('rm', true),
    forcerm: query.bool('forcerm'),
    args: new Map(Object.entries(jsonOf(query, 'buildargs', isTextOrNull))),
    labels: jsonOf(query, 'labels', isText),
    hostConfig: hostConfigOf(query),
    cacheFrom: listOf(query, 'cachefrom'),
    target: query.text('target') ?? '',
    ...defined({ platform: query.text('platform') || undefined }),
    auths: registryAuths(auths),
    signal,
  };
}

/** Refuses what this builder cannot do before anything is read. */
function refuse(query: Query, isBySession: boolean): void {
  const version = query.text('version') ?? '1';
  if (version !== '1' && version !== '2') {
    throw invalidArgument(`invalid version ${version}`);
  }
  if (query.bool('squash')) {
    throw invalidArgument('parameter squash is not supported: it is an experimental feature of dockerd');
  }
  const remote = query.text('remote');
  if (!isBySession && remote === 'client-session') {
    throw invalidArgument('parameter remote=client-session needs version=2');
  }
  for (const name of ['session', 'buildid']) {
    if (!isBySession && query.text(name) !== undefined) {
      throw invalidArgument(`parameter ${name} is not supported without BuildKit`);
    }
  }
  const isolation = query.text('isolation') ?? '';
  if (isolation !== '' && isolation !== 'default') {
    throw invalidArgument(`parameter isolation=${isolation} is not supported on Linux`);
  }
  const outputs = query.text('outputs') ?? '';
  if (!isBySession && outputs !== '' && outputs !== '[]' && outputs !== 'null') {
    throw invalidArgument('parameter outputs is not supported without BuildKit');
  }
  if (
    query.text('securityopt') &&
    query.text('securityopt') !== 'null' &&
    query.text('securityopt') !== '[]'
  ) {
    throw invalidArgument('parameter securityopt is not supported');
  }
}

function hostConfigOf(query: Query): HostConfig {
  const ulimits: unknown = parsed(query, 'ulimits') ?? [];
  const isList = Array.isArray(ulimits) && ulimits.every(isUlimit);
  if (!isList) {
    throw invalidArgument('parameter ulimits: must be a JSON list of {Name, Soft, Hard}');
  }
  const extraHosts = query.texts('extrahosts').flatMap((text) => text.split(','));
  return {
    NetworkMode: query.text('networkmode') || 'default',
    ...defined({
      Memory: query.int('memory'),
      MemorySwap: query.int('memswap'),
      CpuShares: query.int('cpushares'),
      CpuPeriod: query.int('cpuperiod'),
      CpuQuota: query.int('cpuquota'),
      CpusetCpus: query.text('cpusetcpus') || undefined,
      CpusetMems: query.text('cpusetmems') || undefined,
      CgroupParent: query.text('cgroupparent') || undefined,
    }),
    ...((query.int('shmsize') ?? 0) > 0 && { ShmSize: query.int('shmsize') ?? 0 }),
    ...(extraHosts.some((host) => host !== '') && { ExtraHosts: extraHosts.filter((host) => host !== '') }),
    ...(ulimits.length > 0 && { Ulimits: ulimits }),
  };
}

function isUlimit(value: unknown): value is { Name: string; Soft: number; Hard: number } {
  return (
    typeof value === 'object' &&
    value !== null &&
    'Name' in value &&
    typeof value.Name === 'string' &&
    'Soft' in value &&
    Number.isSafeInteger(value.Soft) &&
    'Hard' in value &&
    Number.isSafeInteger(value.Hard)
  );
}

/** A parameter that is a JSON object; missing and null are empty. Throws invalid_argument. */
function jsonOf<T>(query: Query, name: string, isRight: (value: unknown) => value is T): Record<string, T> {
  const value = parsed(query, name) ?? {};
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw invalidArgument(`parameter ${name}: must be a JSON object`);
  }
  const found: Record<string, T> = {};
  for (const [key, item] of Object.entries(value)) {
    if (!isRight(item)) {
      throw invalidArgument(`parameter ${name}: ${JSON.stringify(key)} has no text as its value`);
    }
    found[key] = item;
  }
  return found;
}

/** A parameter that is a JSON list of texts. Throws invalid_argument. */
function listOf(query: Query, name: string): string[] {
  const value = parsed(query, name) ?? [];
  if (!Array.isArray(value) || !value.every(isText)) {
    throw invalidArgument(`parameter ${name}: must be a JSON list of texts`);
  }
  return value;
}

function parsed(query: Query, name: string): object | undefined {
  const text = query.text(name) ?? '';
  if (text === '') {
    return undefined;
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Without its cause, which quotes what it could not read: build arguments hold passwords.
    throw invalidArgument(`parameter ${name}: not valid JSON`);
  }
  if (typeof value !== 'object') {
    throw invalidArgument(`parameter ${name}: must be JSON of an object or a list`);
  }
  return value ?? undefined;
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === 'string';
}
