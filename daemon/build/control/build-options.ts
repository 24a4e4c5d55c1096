import { formatPlatform, hostPlatform, parsePlatform } from '../../../storage/image/platform.ts';
import type { BuildSession } from '../../../api/types/build/session.ts';
import type { BuildOptions, ImageLayout, NamedContext } from '../frontend/options.ts';
import { invalidArgument, notImplemented } from '../../base/errors.ts';
import type { BuildDefinition } from '../../../api/types/build/definition.ts';
import { parseImageConfig } from '../../../storage/image/image-config.ts';
import { inputOf } from '../context/main-context.ts';
import { gitSource, httpSource, isGit, isHttp } from '../frontend/sources/remote.ts';
import { otherThanImage } from '../policy/evaluate.ts';
import type { SourceConversion } from '../policy/named-source.ts';
import type { HeldTrees } from '../snapshots/held-trees.ts';
import type { ExecOp, HeldSource, LocalSource, Op } from '../graph/op.ts';
import type { FrontendOptions } from './options.ts';

interface Given {
  /** One of those that the client asks for; `''` = it asks for none. */
  platform: string;
  session: BuildSession;
  entitlements: readonly string[];
  convert: SourceConversion;
  ignorePatterns: readonly string[];
  inputs: ReadonlyMap<string, BuildDefinition>;
  held: HeldTrees;
  /** Undefined: a directory of the session. */
  context: HeldSource | undefined;
}

type Asker = Given & Pick<FrontendOptions, 'localSessions' | 'inputConfigs'>;

/** What a client asks of a build, for the frontend. Throws for what cannot be done, by its name. */
export function buildOptions(options: FrontendOptions, given: Given): BuildOptions {
  const asker = { ...given, ...options };
  const network = networkOf(options.network);
  return {
    target: options.target,
    args: options.args,
    labels: options.labels,
    buildPlatform: hostPlatform(),
    targetPlatform:
      asker.platform === '' ? undefined : parsePlatform(asker.platform, 'platform', { anySystem: true }),
    isMultiPlatform: options.isMultiPlatform,
    context: asker.context ?? local(asker, options.contextName, asker.ignorePatterns),
    ignorePatterns: asker.ignorePatterns,
    contexts: new Map([...options.contexts].map(([name, value]) => [name, contextOf(name, value, asker)])),
    isScanned: options.isScanned,
    noCache: options.noCache,
    pulls: options.pulls,
    // Who asks for the host's network for all of a build allows it.
    entitlements: new Set([...asker.entitlements, ...(network === 'host' ? ['network.host'] : [])]),
    network,
    hostname: options.hostname,
    extraHosts: options.extraHosts,
    shmBytes: options.shmBytes,
    ulimits: options.ulimits,
    cgroupParent: options.cgroupParent,
    cacheNamespace: options.cacheNamespace,
  };
}

function local(
  { session, localSessions }: Pick<Asker, 'session' | 'localSessions'>,
  name: string,
  excludePatterns: readonly string[],
): LocalSource {
  return {
    kind: 'local',
    name,
    session: localSessions.get(name) ?? session.id,
    sharedKey: session.sharedKey,
    includePatterns: [],
    excludePatterns,
    followPaths: [],
  };
}

/** `docker-image://debian:12`, `local:name`, `input:name`, `https://host/repository.git#ref`. */
function contextOf(name: string, value: string, asker: Asker): NamedContext {
  const [, scheme = '', rest = ''] =
    /^(docker-image|oci-layout|local|input):(?:\/\/)?(.*)$/s.exec(value) ?? [];
  switch (scheme) {
    case 'docker-image': {
      const other =
        rest === 'scratch'
          ? undefined
          : otherThanImage(rest, asker.platform || formatPlatform(hostPlatform()), asker.convert);
      if (other?.startsWith('git://') === true) {
        throw notImplemented(`named context ${name}=${value}: it cannot become ${other} by a source policy`);
      }
      return other === undefined ? { kind: 'image', reference: rest } : contextOf(name, other, asker);
    }
    case 'oci-layout':
      return { kind: 'layout', layout: layoutOf(name, rest), name: `[context ${name}] ${value}` };
    case 'local':
      return {
        kind: 'source',
        op: local(asker, rest, []),
        name: `[context ${name}] load from client`,
      };
    case 'input':
      return resultOf(name, rest, asker);
  }
  const title = `[context ${name}] ${value}`;
  if (isGit(value)) {
    const flags = { keepsGitDirectory: undefined, checksum: '' };
    return { kind: 'source', op: gitSource(value, flags, title).op, name: title };
  }
  if (isHttp(value)) {
    return { kind: 'source', op: httpSource(value, { checksum: '' }, title).op, name: title };
  }
  // In BuildKit's words (frontend/dockerui/namedcontext.go).
  const [source, specified] = value.split(':', 2);
  throw invalidArgument(
    specified === undefined
      ? `invalid context specifier ${value} for ${name}`
      : `unsupported context source ${source} for ${name}`,
  );
}

/** `STORE[:TAG]@DIGEST`: clients look the tag up themselves. Throws invalid_argument. */
function layoutOf(name: string, text: string): ImageLayout {
  const [, store = '', digest = ''] = /^([^:@]+)(?::[^@]*)?@(sha256:[0-9a-f]{64})$/.exec(text) ?? [];
  if (store === '') {
    throw invalidArgument(
      `named context ${name}=oci-layout://${text}: must be a store and a digest, STORE@sha256:...`,
    );
  }
  return { store, digest };
}

/** A result of another build, with the configuration that its client hands on. */
function resultOf(name: string, input: string, asker: Asker): NamedContext {
  if (!asker.inputs.has(input)) {
    throw invalidArgument(`named context ${name}=input:${input}: the client sent no such input`);
  }
  const tree = inputOf(asker, input);
  const config = asker.inputConfigs.get(input);
  const image = config && parseImageConfig(config, `input-metadata:${input}`);
  return {
    kind: 'result',
    tree: tree && { ...tree, name: `[context ${name}] load from another build` },
    image,
    isFiles: tree !== undefined && isFilesOf(asker, tree.op),
  };
}

function isFilesOf({ held }: Asker, op: Op): boolean {
  return op.kind === 'held'
    ? held.content(op.id).kind === 'files'
    : ['local', 'http', 'git'].includes(op.kind);
}

function networkOf(text: string): ExecOp['network'] {
  if (text === '' || text === 'default') {
    return 'default';
  }
  if (text === 'none' || text === 'host') {
    return text;
  }
  throw invalidArgument(`network mode ${text} is not supported by BuildKit's protocol`);
}
