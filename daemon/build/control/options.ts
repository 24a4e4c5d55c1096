import type { BuildRequest } from '../../../api/types/ports.ts';
import { invalidArgument, notImplemented } from '../../base/errors.ts';

/** What a client of BuildKit asks of the Dockerfile's frontend. */
export interface FrontendOptions {
  /** Path of the Dockerfile. */
  filename: string;
  /** Names of the directories in the session. */
  contextName: string;
  dockerfileName: string;
  /** A URL as the context; `''` = a directory of the session. */
  contextUrl: string;
  request: Omit<BuildRequest, 'signal'>;
}

type Attributes = ReadonlyMap<string, string>;

/** Values of a word that mean yes. */
const YES = /^(?:1|t|true)$/i;

/** What says only what the client can do, or is for records that are not kept. */
const TOLD = new Set([
  'frontend.caps',
  'build-arg:BUILDKIT_MULTI_PLATFORM',
  'build-arg:BUILDKIT_BUILD_NAME',
  'cache-imports',
  'cache-from',
]);
const TOLD_PREFIX = /^(?:vcs|local-sessionid|sharedkey):/;

const KNOWN = new Set([
  'filename',
  'target',
  'platform',
  'no-cache',
  'image-resolve-mode',
  'force-network-mode',
  'add-hosts',
  'shm-size',
  'ulimit',
  'cgroup-parent',
  'context',
  'contextkey',
  'dockerfilekey',
  'build-arg:BUILDKIT_CONTEXT_KEEP_GIT_DIR',
]);

/** Reads `FrontendAttrs`. Throws for each that is not honoured, by its name. Pure. */
export function readOptions(attributes: Attributes): FrontendOptions {
  refuse(attributes);
  const text = (name: string): string => attributes.get(name) ?? '';
  const { args, labels } = prefixed(attributes);
  const contextName = text('contextkey') || 'context';
  return {
    filename: text('filename') || 'Dockerfile',
    contextName,
    dockerfileName: text('dockerfilekey') || (text('context') === '' ? 'dockerfile' : ''),
    contextUrl: text('context'),
    request: {
      remote: '',
      dockerfile: text('filename') || 'Dockerfile',
      tags: [],
      quiet: false,
      nocache: attributes.has('no-cache'),
      pull: text('image-resolve-mode') === 'pull',
      rm: true,
      forcerm: true,
      args,
      labels,
      hostConfig: hostConfigOf(text),
      cacheFrom: [],
      target: text('target'),
      ...(text('platform') !== '' && { platform: text('platform') }),
      auths: {},
    },
  };
}

function refuse(attributes: Attributes): void {
  for (const [name, value] of attributes) {
    if (name.startsWith('context:') || name.startsWith('input:') || name.startsWith('input-metadata:')) {
      throw notImplemented(`named contexts are not supported yet: ${name}=${value}`);
    }
    if (name.startsWith('attest:')) {
      throw notImplemented(`attestations are not supported: ${name.slice('attest:'.length)}`);
    }
    if (name === 'build-arg:BUILDKIT_INLINE_CACHE' && YES.test(value)) {
      throw notImplemented('build-arg BUILDKIT_INLINE_CACHE: export of the cache is not supported yet');
    }
    if (name === 'build-arg:BUILDKIT_SYNTAX') {
      refuseSyntax(value);
    }
    if (name === 'requestid') {
      throw notImplemented(`subrequest ${value} is not supported`);
    }
    // A cache that cannot be imported is no reason to fail; what it would give is built.
    const isRead =
      KNOWN.has(name) || TOLD.has(name) || TOLD_PREFIX.test(name) || /^(?:build-arg|label):/.test(name);
    if (!isRead && value !== '') {
      throw notImplemented(`option ${name}=${value} of the frontend dockerfile.v0 is not supported yet`);
    }
  }
  const noCache = attributes.get('no-cache') ?? '';
  if (noCache !== '') {
    throw notImplemented(`no-cache of single stages (${noCache}) is not supported yet`);
  }
  if (attributes.get('platform')?.includes(',') === true) {
    throw notImplemented(`several platforms at once are not supported: ${attributes.get('platform')}`);
  }
}

/** Frontends that are built in, by the names that Dockerfiles have for them. Throws not_implemented for others. */
export function refuseSyntax(syntax: string): void {
  if (
    !/^(?:docker\.io\/)?docker\/dockerfile(?:-upstream)?(?:[:@].*)?$|^dockerfile\.v0$/.test(syntax.trim())
  ) {
    throw notImplemented(`frontend ${syntax.trim()} is not supported: only docker/dockerfile is built in`);
  }
}

function prefixed(attributes: Attributes): { args: Map<string, string>; labels: Record<string, string> } {
  const args = new Map<string, string>();
  const labels = new Map<string, string>();
  for (const [name, value] of attributes) {
    const [, kind, key = ''] = /^(build-arg|label):(.*)$/s.exec(name) ?? [];
    if (kind === 'label') {
      labels.set(key, value);
    } else if (kind === 'build-arg' && !key.startsWith('BUILDKIT_')) {
      args.set(key, value);
    }
  }
  return { args, labels: Object.fromEntries(labels) };
}

function hostConfigOf(text: (name: string) => string): BuildRequest['hostConfig'] {
  const hosts = words(text('add-hosts')).map((word) => word.replace('=', ':'));
  const shmSize = text('shm-size');
  const ulimits = words(text('ulimit')).map((word) => ulimitOf(word));
  return {
    NetworkMode: text('force-network-mode') || 'default',
    ...(hosts.length > 0 && { ExtraHosts: hosts }),
    ...(shmSize !== '' && { ShmSize: numberOf('shm-size', shmSize) }),
    ...(ulimits.length > 0 && { Ulimits: ulimits }),
    ...(text('cgroup-parent') !== '' && { CgroupParent: text('cgroup-parent') }),
  };
}

function words(text: string): string[] {
  return text.split(',').filter((word) => word !== '');
}

function ulimitOf(word: string): { Name: string; Soft: number; Hard: number } {
  const [, name = '', soft = '', hard = soft] = /^([^=]+)=(-?\d+)(?::(-?\d+))?$/.exec(word) ?? [];
  if (name === '') {
    throw invalidArgument(`ulimit ${word}: must be NAME=SOFT:HARD`);
  }
  return { Name: name, Soft: numberOf('ulimit', soft), Hard: numberOf('ulimit', hard) };
}

function numberOf(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) {
    throw invalidArgument(`${name} ${text}: must be a number`);
  }
  return value;
}
