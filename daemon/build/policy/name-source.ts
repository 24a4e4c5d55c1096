import {
  tryParseReference,
  canonicalRepository,
  withDefaultTag,
} from '../../../storage/references/reference.ts';
import { unreachable } from '../../base/errors.ts';
import type { GitSource, HttpSource, ImageSource, LayoutSource, LocalSource, Op } from '../graph/op.ts';
import type { NamedSource } from './named-source.ts';

/** An operation of a graph as clients would name it; undefined = it is no source of theirs. Pure. */
export function nameSource(op: Op): NamedSource | undefined {
  switch (op.kind) {
    case 'image':
      return imageName(op);
    case 'layout':
      return layoutName(op);
    case 'local':
      return localName(op);
    case 'http':
      return httpName(op);
    case 'git':
      return gitName(op);
    case 'sent':
    case 'held':
    case 'files':
    case 'exec':
    case 'merge':
    case 'diff':
    case 'result':
      return undefined;
    default:
      return unreachable(op);
  }
}

/** With its registry, and a tag or a digest: that is how policies know images. */
export function fullIdentifier(identifier: string): string {
  const [, name = ''] = /^docker-image:\/\/(.*)$/s.exec(identifier) ?? [];
  const parsed = name === '' ? undefined : tryParseReference(name);
  if (parsed === undefined) {
    return identifier;
  }
  const whole = withDefaultTag(parsed);
  const { tag, digest } = whole;
  const suffix = `${tag === undefined ? '' : `:${tag}`}${digest === undefined ? '' : `@${digest}`}`;
  return `docker-image://${canonicalRepository(whole)}${suffix}`;
}

function imageName({ reference, mode, layerLimit, platform }: ImageSource): NamedSource {
  const attributes = {
    'image.resolvemode': mode,
    'image.layerlimit': layerLimit === undefined ? '' : String(layerLimit),
  };
  return { ...named(`docker-image://${reference}`, attributes), platform };
}

function layoutName({ store, digest, session, layerLimit, platform }: LayoutSource): NamedSource {
  const attributes = {
    'oci.store': store,
    'oci.session': session,
    'oci.layerlimit': layerLimit === undefined ? '' : String(layerLimit),
  };
  return { ...named(`oci-layout://${store}@${digest}`, attributes), platform };
}

function localName(op: LocalSource): NamedSource {
  return named(`local://${op.name}`, {
    'local.session': op.session,
    'local.includepattern': listed(op.includePatterns),
    'local.excludepatterns': listed(op.excludePatterns),
    'local.followpaths': listed(op.followPaths),
    'local.differ': op.isSentAnew ? 'none' : '',
  });
}

function listed(patterns: readonly string[]): string {
  return patterns.length === 0 ? '' : JSON.stringify(patterns);
}

function httpName({ url, checksum, fileName, mode, owner }: HttpSource): NamedSource {
  return named(url, {
    'http.checksum': checksum,
    'http.filename': fileName,
    'http.perm': mode === undefined ? '' : `0${mode.toString(8)}`,
    'http.uid': owner.uid === 0 ? '' : String(owner.uid),
    'http.gid': owner.gid === 0 ? '' : String(owner.gid),
  });
}

function gitName(op: GitSource): NamedSource {
  const fragment = op.subdirectory === '' ? op.ref : `${op.ref}:${op.subdirectory}`;
  return named(`git://${hostAndPath(op.remote)}${fragment === '' ? '' : `#${fragment}`}`, {
    'git.fullurl': op.remote,
    'git.keepgitdir': op.keepsGitDirectory ? 'true' : '',
    'git.skipsubmodules': op.skipsSubmodules ? 'true' : '',
    'git.checksum': op.checksum,
    'git.authtokensecret': op.secrets?.token ?? '',
    'git.authheadersecret': op.secrets?.header ?? '',
    'git.mountsshsock': op.agent ?? '',
    'git.knownsshhosts': op.knownHosts ?? '',
  });
}

/** Whoever asks and by what protocol: `git@host:path` and `https://host/path` are one repository. */
function hostAndPath(remote: string): string {
  if (URL.canParse(remote) && remote.includes('://')) {
    const { host, pathname } = new URL(remote);
    return `${host}${pathname}`;
  }
  const [, host = '', path = ''] = /^(?:[^@/]+@)?([^:/]+):\/?(.*)$/s.exec(remote) ?? [];
  return host === '' ? remote : `${host}/${path}`;
}

/** Without attributes that say nothing. */
function named(identifier: string, attrs: Readonly<Record<string, string>>): NamedSource {
  return { identifier, attrs: new Map(Object.entries(attrs).filter(([, value]) => value !== '')) };
}
