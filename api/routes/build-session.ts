import { invalidArgument, notImplemented } from '../../daemon/base/errors.ts';
import { traceOf } from '../buildkit/services/updates.ts';
import type { BuildkitPort, SessionBuildRequest } from '../types/build/ports.ts';
import type { HostConfig } from '../types/host-config.ts';
import type { BuildRequest } from '../types/ports.ts';
import type { Query } from '../query.ts';

/**
 * POST /build?version=2 of the CLI 18.09 to 20.10: a build by a session, its progress as JSON lines. Throws
 * invalid_argument and not_implemented before it begins.
 */
export function buildBySession(
  buildkit: BuildkitPort,
  query: Query,
  request: BuildRequest,
): AsyncIterable<unknown> {
  return lines(buildkit.build(sessionRequest(query, request), request.signal), request.quiet);
}

async function* lines(
  { updates, image }: ReturnType<BuildkitPort['build']>,
  isQuiet: boolean,
): AsyncGenerator {
  // Awaited below.
  image.catch(() => undefined /* see above */);
  for await (const update of updates) {
    yield { id: 'moby.buildkit.trace', aux: traceOf(update) };
  }
  const id = await image;
  yield { id: 'moby.image.id', aux: { ID: id } };
  if (isQuiet) {
    // What the CLI prints for -q is this text, not the line before.
    yield { stream: `${id}\n` };
  }
}

function sessionRequest(query: Query, request: BuildRequest): SessionBuildRequest {
  const session = query.text('session') ?? '';
  if (session === '') {
    throw invalidArgument('parameter session: a build by BuildKit needs one');
  }
  const remote = query.text('remote') ?? '';
  if (remote !== 'client-session') {
    throw notImplemented(`parameter remote=${remote} is not supported yet by BuildKit's protocol`);
  }
  const outputs = query.text('outputs') ?? '';
  if (!['', '[]', 'null', '[{"Type":"moby","Attrs":{}}]'].includes(outputs)) {
    throw notImplemented(`parameter outputs=${outputs} is not supported yet`);
  }
  return {
    id: query.text('buildid') ?? '',
    session,
    names: request.tags,
    attributes: attributesOf(request),
  };
}

/** The same request as the attributes of BuildKit's frontend. */
function attributesOf(request: BuildRequest): Map<string, string> {
  const { args, labels, hostConfig } = request;
  const all: [string, string | undefined][] = [
    ['filename', request.dockerfile],
    ['target', request.target || undefined],
    ['platform', request.platform],
    ['no-cache', request.nocache ? '' : undefined],
    ['cache-from', request.cacheFrom.join(',') || undefined],
    ['image-resolve-mode', request.pull ? 'pull' : undefined],
    ...hostAttributes(hostConfig),
    // A name without a value is one that is not set.
    ...[...args].map(([name, value]): [string, string | undefined] => [
      `build-arg:${name}`,
      value ?? undefined,
    ]),
    ...Object.entries(labels).map(([name, value]): [string, string] => [`label:${name}`, value]),
  ];
  return new Map(all.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const])));
}

function hostAttributes({
  NetworkMode,
  ExtraHosts,
  ShmSize,
  Ulimits,
  CgroupParent,
}: HostConfig): [string, string | undefined][] {
  const network = NetworkMode === undefined || NetworkMode === 'default' ? undefined : NetworkMode;
  return [
    ['force-network-mode', network],
    ['add-hosts', ExtraHosts?.map((host) => host.replace(':', '=')).join(',')],
    ['shm-size', ShmSize === undefined ? undefined : String(ShmSize)],
    ['ulimit', Ulimits?.map(({ Name, Soft, Hard }) => `${Name}=${Soft}:${Hard}`).join(',')],
    ['cgroup-parent', CgroupParent],
  ];
}
