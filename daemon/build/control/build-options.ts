import { hostPlatform, parsePlatform } from '../../../storage/image/platform.ts';
import type { BuildSession } from '../../../api/types/build/session.ts';
import type { BuildOptions, NamedContext } from '../frontend/options.ts';
import { invalidArgument, notImplemented } from '../../base/errors.ts';
import type { ExecOp, GitSource, LocalSource } from '../graph/op.ts';
import type { FrontendOptions } from './options.ts';

interface Asker {
  session: BuildSession;
  entitlements: readonly string[];
  ignorePatterns: readonly string[];
}

/** What a client asks of a build, for the frontend. Throws for what cannot be done, by its name. */
export function buildOptions(options: FrontendOptions, asker: Asker): BuildOptions {
  const network = networkOf(options.network);
  return {
    target: options.target,
    args: options.args,
    labels: options.labels,
    buildPlatform: hostPlatform(),
    targetPlatform: options.platform === '' ? undefined : parsePlatform(options.platform, 'platform'),
    isMultiPlatform: false,
    context: local(asker.session, options.contextName, asker.ignorePatterns),
    ignorePatterns: asker.ignorePatterns,
    contexts: new Map([...options.contexts].map(([name, value]) => [name, contextOf(name, value, asker)])),
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

function local(session: BuildSession, name: string, excludePatterns: readonly string[]): LocalSource {
  return {
    kind: 'local',
    name,
    session: session.id,
    sharedKey: session.sharedKey,
    includePatterns: [],
    excludePatterns,
    followPaths: [],
  };
}

/** `docker-image://debian:12`, `local:name`, `https://host/repository.git#ref`. */
function contextOf(name: string, value: string, { session }: Asker): NamedContext {
  const [, scheme = '', rest = ''] =
    /^(docker-image:\/\/|local:|git:\/\/|https?:\/\/)(.*)$/s.exec(value) ?? [];
  switch (scheme) {
    case 'docker-image://':
      return { kind: 'image', reference: rest };
    case 'local:':
      return {
        kind: 'source',
        op: local(session, rest, []),
        name: `[context ${name}] load from client`,
      };
    case 'git://':
    case 'http://':
    case 'https://': {
      const op = repository(value);
      if (op !== undefined) {
        return { kind: 'source', op, name: `[context ${name}] ${value}` };
      }
      break;
    }
  }
  throw notImplemented(`named context ${name}=${value} is not supported yet`);
}

function repository(url: string): GitSource | undefined {
  const [, remote = '', fragment = ''] = /^([^#]+\.git)(?:#(.*))?$/.exec(url) ?? [];
  if (remote === '') {
    return undefined;
  }
  const [ref = '', subdirectory = ''] = fragment.split(':', 2);
  if (ref.startsWith('-')) {
    throw invalidArgument(`invalid reference ${ref} of ${remote}`);
  }
  return { kind: 'git', remote, ref, subdirectory, keepsGitDirectory: false, checksum: '' };
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
