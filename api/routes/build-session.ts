import type { Readable } from 'node:stream';
import { invalidArgument } from '../../daemon/base/errors.ts';
import { traceOf } from '../buildkit/services/updates.ts';
import type { BuildkitPort, SessionBuildRequest } from '../types/build/ports.ts';
import type { HostConfig } from '../types/host-config.ts';
import type { BuildRequest } from '../types/ports.ts';
import type { Query } from '../query.ts';

/** Where a context comes by a request of its own, beside that of the build. */
const UPLOAD = 'upload-request';

/** The id of the build whose context a request carries; undefined: it is the build itself. */
export function uploadedBuild(query: Query): string | undefined {
  const id = query.text('buildid') ?? '';
  return id.startsWith(`${UPLOAD}:`) ? id.slice(UPLOAD.length + 1) : undefined;
}

/**
 * POST /build?version=2 of the CLI 18.09 to 20.10: a build by a session, its progress as JSON lines. Throws
 * invalid_argument and not_implemented before it begins.
 */
export function buildBySession(
  buildkit: BuildkitPort,
  query: Query,
  { request, body }: { request: BuildRequest; body: Readable },
): AsyncIterable<unknown> {
  const asked = sessionRequest(query, request, body);
  if (asked.context !== body) {
    body.resume();
  }
  return lines(buildkit.build(asked, request.signal), request.quiet);
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
  if (id !== '') {
    yield { id: 'moby.image.id', aux: { ID: id } };
  }
  if (isQuiet && id !== '') {
    // What the CLI prints for -q is this text, not the line before.
    yield { stream: `${id}\n` };
  }
}

function sessionRequest(query: Query, request: BuildRequest, body: Readable): SessionBuildRequest {
  const session = query.text('session') ?? '';
  if (session === '') {
    throw invalidArgument('parameter session: a build by BuildKit needs one');
  }
  const remote = query.text('remote') ?? '';
  const isUrl = !['', 'client-session', UPLOAD].includes(remote);
  return {
    id: query.text('buildid') ?? '',
    session,
    outputs: outputsOf(query.text('outputs') ?? '', request.tags),
    attributes: isUrl ? attributesOf(request).set('context', remote) : attributesOf(request),
    ...(remote === UPLOAD && { context: 'upload' }),
    // Some libraries post it, as without BuildKit.
    ...(remote === '' && { context: body }),
  };
}

/** `[{"Type":"local","Attrs":{}}]`; none = an image of the engine's, with the names. */
function outputsOf(text: string, names: readonly string[]): SessionBuildRequest['outputs'] {
  const asked = text === '' ? [] : readOutputs(text);
  const image = { type: 'moby', attributes: new Map([['name', names.join(',')]]) };
  return asked.length === 0 ? [image] : asked.map((output) => (output.type === 'moby' ? image : output));
}

function readOutputs(text: string): SessionBuildRequest['outputs'] {
  const wrong = invalidArgument(`parameter outputs=${text}: must be a list of {"Type", "Attrs"}`);
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch {
    throw wrong;
  }
  if (list === null) {
    return [];
  }
  if (!Array.isArray(list)) {
    throw wrong;
  }
  return list.map((item: unknown) => {
    if (typeof item !== 'object' || item === null || !('Type' in item) || typeof item.Type !== 'string') {
      throw wrong;
    }
    const attributes = Object.entries(('Attrs' in item ? item.Attrs : undefined) ?? {});
    return {
      type: item.Type,
      attributes: new Map(
        attributes.map(([name, value]: [string, unknown]) => {
          if (typeof value !== 'string') {
            throw wrong;
          }
          return [name, value] as const;
        }),
      ),
    };
  });
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
