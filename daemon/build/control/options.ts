import type { NamedCache } from '../../../api/types/build/ports.ts';
import { readEpoch } from '../export/read-outputs.ts';
import { SCAN_ARGUMENTS } from '../frontend/stages/scanned.ts';
import { UnsupportedError } from '../../base/build-error.ts';
import { invalidArgument, notImplemented } from '../../base/errors.ts';
import { isAttestation, readAttestations } from '../attest/asked.ts';
import { cachesOfAttributes } from './cache-options.ts';

/** What a client of BuildKit asks of the Dockerfile's frontend. */
export interface FrontendOptions {
  /** Of a context that is no directory of the session; `''` = it is one. */
  contextUrl: string;
  keepsGitDirectory: boolean;
  /** Directory of such a context that is the context; `''` = all of it. */
  contextSubdirectory: string;
  /** The Dockerfile is one of the session in any case. */
  hasOwnDockerfile: boolean;
  /** Configurations of results of other builds, by the names of the inputs that they are. */
  inputConfigs: ReadonlyMap<string, Buffer>;
  /** Sessions that have a directory instead of the build's own, by its name. */
  localSessions: ReadonlyMap<string, string>;
  /** Path of the Dockerfile. */
  filename: string;
  /** Names of the directories in the session. */
  contextName: string;
  dockerfileName: string;
  target: string;
  args: ReadonlyMap<string, string>;
  labels: ReadonlyMap<string, string>;
  /** `''` = that of this host. */
  platforms: readonly string[];
  /** A result by platform, also where there is one alone. */
  isMultiPlatform: boolean;
  /** The result is looked through. */
  isScanned: boolean;
  /** Stages whose results are made anew. */
  noCache: 'all' | readonly string[];
  pulls: boolean;
  network: string;
  extraHosts: readonly { name: string; address: string }[];
  shmBytes: number | undefined;
  ulimits: readonly { name: string; soft: number; hard: number }[];
  cgroupParent: string;
  /** `--build-context`, by name. */
  contexts: ReadonlyMap<string, string>;
  hostname: string;
  cacheNamespace: string;
  /** In place of the Dockerfile's own `# check=`. */
  check: string;
  /** Seconds since 1970: when the image is said to be made; undefined = when it is. */
  epochSeconds: number | undefined;
  /** What is asked instead of a build: `frontend.lint`; `''` = nothing. */
  subrequest: string;
  /** Caches to be looked into. */
  cacheImports: readonly NamedCache[];
  /** The image brings its cache along. */
  isCacheInline: boolean;
}

type Attributes = ReadonlyMap<string, string>;

/** Values of a word that mean yes. */
const YES = /^(?:1|t|true)$/i;

/** What says only what the client can do, or is for records that are not kept. */
const TOLD = new Set(['frontend.caps', 'build-arg:BUILDKIT_BUILD_NAME']);
const TOLD_PREFIX = /^(?:vcs|sharedkey):/;

/** What clients may ask of a frontend (frontend/dockerfile/builder/caps.go of BuildKit). */
const CAPABILITIES = new Set([
  'moby.buildkit.frontend.contexts',
  'moby.buildkit.frontend.gitquerystring',
  'moby.buildkit.frontend.inputs',
  'moby.buildkit.frontend.subrequests',
]);

const KNOWN = new Set([
  'filename',
  'requestid',
  'target',
  'platform',
  'no-cache',
  'image-resolve-mode',
  'force-network-mode',
  'add-hosts',
  'shm-size',
  'ulimit',
  'cgroup-parent',
  'hostname',
  'context',
  'contextkey',
  'contextsubdir',
  'dockerfilekey',
  'cache-imports',
  'cache-from',
  'build-arg:BUILDKIT_CONTEXT_KEEP_GIT_DIR',
  'build-arg:BUILDKIT_MULTI_PLATFORM',
  'multi-platform',
]);

/** Reads `FrontendAttrs`. Throws for each that is not honoured, by its name, and UnsupportedError. Pure. */
export function readOptions(attributes: Attributes): FrontendOptions {
  refuse(attributes);
  refuseCapabilities(attributes);
  const text = (name: string): string => attributes.get(name) ?? '';
  const noCache = attributes.get('no-cache');
  const platforms = [...new Set(words(text('platform')))];
  const shmSize = text('shm-size');
  return {
    contextUrl: text('context'),
    contextSubdirectory: text('contextsubdir'),
    keepsGitDirectory: YES.test(text('build-arg:BUILDKIT_CONTEXT_KEEP_GIT_DIR')),
    hasOwnDockerfile: text('dockerfilekey') !== '',
    inputConfigs: new Map(
      [...prefixed(attributes, 'input-metadata:')].flatMap(([name, value]) => configOf(name, value)),
    ),
    localSessions: prefixed(attributes, 'local-sessionid:'),
    filename: text('filename') || 'Dockerfile',
    contextName: text('contextkey') || 'context',
    dockerfileName: text('dockerfilekey') || 'dockerfile',
    target: text('target'),
    args: new Map(
      [...prefixed(attributes, 'build-arg:')].filter(
        ([name]) => !name.startsWith('BUILDKIT_') || SCAN_ARGUMENTS.includes(name),
      ),
    ),
    isScanned: readAttestations(attributes).scan !== undefined,
    labels: prefixed(attributes, 'label:'),
    platforms,
    isMultiPlatform: isMultiPlatform(
      text('build-arg:BUILDKIT_MULTI_PLATFORM') || text('multi-platform'),
      platforms,
    ),
    noCache: noCache === undefined ? [] : noCache === '' ? 'all' : words(noCache),
    pulls: text('image-resolve-mode') === 'pull',
    network: text('force-network-mode'),
    extraHosts: words(text('add-hosts')).map((word) => hostOf(word)),
    shmBytes: shmSize === '' ? undefined : numberOf('shm-size', shmSize),
    ulimits: words(text('ulimit')).map((word) => ulimitOf(word)),
    cgroupParent: text('cgroup-parent'),
    contexts: prefixed(attributes, 'context:'),
    hostname: text('build-arg:BUILDKIT_SANDBOX_HOSTNAME') || text('hostname'),
    cacheNamespace: text('build-arg:BUILDKIT_CACHE_MOUNT_NS'),
    check: text('build-arg:BUILDKIT_DOCKERFILE_CHECK'),
    epochSeconds: readEpoch('SOURCE_DATE_EPOCH', text('build-arg:SOURCE_DATE_EPOCH')),
    subrequest: text('requestid'),
    cacheImports: cachesOfAttributes(attributes),
    isCacheInline: YES.test(text('build-arg:BUILDKIT_INLINE_CACHE')),
  };
}

function refuse(attributes: Attributes): void {
  for (const [name, value] of attributes) {
    if (name === 'build-arg:BUILDKIT_SYNTAX') {
      refuseSyntax(value);
    }
    const isRead =
      KNOWN.has(name) ||
      TOLD.has(name) ||
      TOLD_PREFIX.test(name) ||
      isAttestation(name) ||
      /^(?:build-arg|label|context|input|input-metadata|local-sessionid):/.test(name);
    if (!isRead && value !== '') {
      throw notImplemented(`option ${name}=${value} of the frontend dockerfile.v0 is not supported yet`);
    }
  }
}

/** Throws invalid_argument, in BuildKit's words. */
function isMultiPlatform(said: string, platforms: readonly string[]): boolean {
  const isSeveral = platforms.length > 1;
  if (said === '') {
    return isSeveral;
  }
  if (!/^(?:1|t|true|0|f|false)$/i.test(said)) {
    throw invalidArgument(`invalid boolean value for multi-platform: ${said}`);
  }
  const isAsked = YES.test(said);
  if (!isAsked && isSeveral) {
    throw invalidArgument('conflicting config: returning multiple target platforms is not allowed');
  }
  return isAsked;
}

/** What a client asks for must be known; `+forward` is for frontends that hand on to others. */
function refuseCapabilities(attributes: Attributes): void {
  const capabilities = (attributes.get('frontend.caps') ?? '')
    .split(',')
    .map((word) => word.split('+')[0] ?? '');
  const unknown = capabilities.find((name) => name !== '' && !CAPABILITIES.has(name));
  if (unknown !== undefined) {
    throw new UnsupportedError('capability', unknown);
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

/**
 * The options for the frontend that is built in: as they are for `dockerfile.v0`, and of `gateway.v0` those beside the
 * image that is to be it, which is what buildx makes of BUILDKIT_SYNTAX. Throws not_implemented for other frontends.
 */
export function builtInOptions(frontend: string, options: Attributes): Attributes {
  if (frontend === 'dockerfile.v0') {
    return options;
  }
  if (frontend !== 'gateway.v0') {
    throw notImplemented(`frontend ${frontend} is not supported: only dockerfile.v0 is built in`);
  }
  refuseSyntax(options.get('source') ?? '');
  return new Map([...options].filter(([name]) => name !== 'source' && name !== 'cmdline'));
}

function prefixed(attributes: Attributes, prefix: string): Map<string, string> {
  return new Map(
    [...attributes].flatMap(([name, value]): [string, string][] =>
      name.startsWith(prefix) ? [[name.slice(prefix.length), value]] : [],
    ),
  );
}

/** JSON of bytes by name: `{"containerimage.config": "<base64>"}`. */
function configOf(name: string, value: string): [string, Buffer][] {
  const problem = (): Error => invalidArgument(`input-metadata:${name}: must be JSON of texts in base64`);
  let metadata: unknown;
  try {
    metadata = JSON.parse(value);
  } catch {
    throw problem();
  }
  if (typeof metadata !== 'object' || metadata === null) {
    throw problem();
  }
  const config: unknown = Object.entries(metadata).find(([key]) => key === 'containerimage.config')?.[1];
  if (config === undefined) {
    return [];
  }
  if (typeof config !== 'string') {
    throw problem();
  }
  return [[name, Buffer.from(config, 'base64')]];
}

function hostOf(word: string): { name: string; address: string } {
  const [name = '', address = ''] = word.split('=', 2);
  if (name === '' || address === '') {
    throw invalidArgument(`add-hosts ${word}: must be NAME=ADDRESS`);
  }
  return { name, address };
}

function words(text: string): string[] {
  return text.split(',').filter((word) => word !== '');
}

function ulimitOf(word: string): { name: string; soft: number; hard: number } {
  const [, name = '', soft = '', hard = soft] = /^([^=]+)=(-?\d+)(?::(-?\d+))?$/.exec(word) ?? [];
  if (name === '') {
    throw invalidArgument(`ulimit ${word}: must be NAME=SOFT:HARD`);
  }
  return { name, soft: numberOf('ulimit', soft), hard: numberOf('ulimit', hard) };
}

function numberOf(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) {
    throw invalidArgument(`${name} ${text}: must be a number`);
  }
  return value;
}
