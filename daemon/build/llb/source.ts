import { posix } from 'node:path';
import { invalidArgument, notImplemented } from '../../base/errors.ts';
import type {
  GitSource,
  HeldSource,
  HttpSource,
  ImageSource,
  LayoutSource,
  LocalSource,
} from '../graph/op.ts';
import { refuseNoCommit } from '../frontend/sources/remote.ts';
import type { NamedSource } from '../policy/named-source.ts';
import { RESULT_SCHEME } from './result-definition.ts';
import type { GraphOwner } from './owner.ts';

/** What changes no result: what records are called. */
const TOLD = new Set(['local.unique', 'image.recordtype']);

type Source = ImageSource | LayoutSource | LocalSource | HttpSource | GitSource | HeldSource;

/** Where files come from, by the scheme of the identifier. Throws not_implemented for schemes and attributes. */
export function sourceOf({ identifier, attrs }: NamedSource, owner: GraphOwner): Source {
  const [, scheme = '', rest = ''] = /^([a-z-]+):\/\/(.*)$/s.exec(identifier) ?? [];
  const given = new Map([...attrs].filter(([name]) => !TOLD.has(name)));
  const take = (name: string): string => {
    const value = given.get(name) ?? '';
    given.delete(name);
    return value;
  };
  const op = ofScheme(scheme, { identifier, rest, take }, owner);
  const [unknown] = given;
  if (unknown !== undefined) {
    throw notImplemented(`source ${identifier}: attribute ${unknown.join('=')} is not supported`);
  }
  return op;
}

interface Asked {
  identifier: string;
  rest: string;
  take: (name: string) => string;
}

function ofScheme(scheme: string, asked: Asked, owner: GraphOwner): Source {
  const { identifier, rest, take } = asked;
  switch (scheme) {
    case 'docker-image': {
      const resolved = take('image.resolvemode');
      if (!['', 'default', 'pull', 'local'].includes(resolved)) {
        throw invalidArgument(
          `image.resolvemode ${JSON.stringify(resolved)}: must be default, pull or local`,
        );
      }
      const limit = layerLimit('image.layerlimit', take('image.layerlimit'));
      const { platform } = owner;
      return {
        kind: 'image',
        reference: rest,
        platform,
        mode: resolved === 'pull' ? 'pull' : 'local',
        ...limit,
      };
    }
    case 'oci-layout':
      return layoutSource(asked, owner);
    case 'local':
      return localSource(asked, owner);
    case 'http':
    case 'https':
      return httpSource(asked);
    case 'git':
      return gitSource(asked);
    case RESULT_SCHEME:
      return { kind: 'held', id: rest };
    default:
      throw notImplemented(`source ${identifier} is not supported`);
  }
}

function layoutSource({ identifier, rest, take }: Asked, { session, platform }: GraphOwner): LayoutSource {
  const [, digest = ''] = /^[^@]+@(sha256:[0-9a-f]{64})$/.exec(rest) ?? [];
  if (digest === '') {
    throw invalidArgument(`${identifier}: must be a reference with a digest, NAME@sha256:...`);
  }
  const store = take('oci.store') || rest.replace(/[:@].*$/, '');
  const limit = layerLimit('oci.layerlimit', take('oci.layerlimit'));
  return { kind: 'layout', store, digest, session: take('oci.session') || session, platform, ...limit };
}

function layerLimit(name: string, text: string): { layerLimit?: number } {
  if (text === '') {
    return {};
  }
  const limit = count(name, text, 10);
  if (limit === 0) {
    throw invalidArgument(`${name} ${text}: must be more than 0`);
  }
  return { layerLimit: limit };
}

function localSource({ rest, take }: Asked, { session, sharedKey }: GraphOwner): LocalSource {
  return {
    kind: 'local',
    name: rest,
    session: take('local.session') || session,
    sharedKey: [take('local.sharedkeyhint'), sharedKey].filter((part) => part !== '').join(':'),
    includePatterns: patterns('local.includepattern', take('local.includepattern')),
    excludePatterns: patterns('local.excludepatterns', take('local.excludepatterns')),
    followPaths: patterns('local.followpaths', take('local.followpaths')),
    ...(take('local.differ') === 'none' && { isSentAnew: true }),
  };
}

function httpSource({ identifier, take }: Asked): HttpSource {
  if (!URL.canParse(identifier)) {
    throw invalidArgument(`${identifier} is no URL`);
  }
  const perm = take('http.perm');
  const base = posix.basename(new URL(identifier).pathname);
  return {
    kind: 'http',
    url: identifier,
    checksum: take('http.checksum'),
    fileName: fileName(take('http.filename') || (base === '' || base === '/' ? 'download' : base)),
    ...(perm !== '' && { mode: count('http.perm', perm, 8) }),
    owner: { uid: count('http.uid', take('http.uid'), 10), gid: count('http.gid', take('http.gid'), 10) },
  };
}

/** A name alone: the file stands at the root of its tree. */
function fileName(name: string): string {
  if (name === '.' || name === '..' || /[/\0]/.test(name)) {
    throw invalidArgument(`http.filename ${JSON.stringify(name)}: must be a name`);
  }
  return name;
}

function gitSource({ rest, take }: Asked): GitSource {
  const [address = '', fragment = ''] = rest.split('#', 2);
  const [ref = '', subdirectory = ''] = fragment.split(':', 2);
  if (ref.startsWith('-')) {
    throw invalidArgument(`invalid reference ${ref} of ${address}`);
  }
  const token = take('git.authtokensecret');
  const header = take('git.authheadersecret');
  const agent = take('git.mountsshsock');
  const knownHosts = take('git.knownsshhosts');
  const checksum = take('git.checksum');
  refuseNoCommit(checksum);
  return {
    kind: 'git',
    remote: take('git.fullurl') || `https://${address}`,
    ref,
    subdirectory,
    keepsGitDirectory: take('git.keepgitdir') === 'true',
    checksum,
    ...(take('git.skipsubmodules') === 'true' && { skipsSubmodules: true }),
    ...(token + header !== '' && { secrets: { token, header } }),
    ...(agent !== '' && { agent }),
    ...(knownHosts !== '' && { knownHosts }),
  };
}

function patterns(name: string, text: string): string[] {
  let parsed: unknown;
  try {
    parsed = text === '' ? [] : JSON.parse(text);
  } catch {
    parsed = undefined;
  }
  if (parsed === null) {
    return [];
  }
  if (!Array.isArray(parsed) || !parsed.every((item) => typeof item === 'string')) {
    throw invalidArgument(`${name} ${JSON.stringify(text)}: must be a list of texts as JSON`);
  }
  return parsed;
}

function count(name: string, text: string, base: 8 | 10): number {
  if (text !== '' && !(base === 8 ? /^[0-7]{1,7}$/ : /^\d{1,10}$/).test(text)) {
    throw invalidArgument(`${name} ${JSON.stringify(text)}: must be a number`);
  }
  return text === '' ? 0 : Number.parseInt(text, base);
}
