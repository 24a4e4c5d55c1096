import { invalidArgument, type EngineError } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';

/**
 * Image references as clients write them, in the grammar of the distribution project (`reference` package):
 * `[domain/]path[:tag][@digest]`. A name without a domain is Docker Hub's, one without a slash is below `library/`.
 */
export interface Reference {
  /** `docker.io`, `registry.example.com:5000`. */
  domain: string;
  /** `library/busybox`. */
  path: string;
  tag?: string;
  /** `sha256:...` */
  digest?: string;
}

export const DEFAULT_TAG = 'latest';
const DEFAULT_DOMAIN = 'docker.io';
const LEGACY_DOMAIN = 'index.docker.io';
const OFFICIAL = 'library/';
/** Named as the algorithm of digests, `docker.io/library/` being left out. */
const AMBIGUOUS = `${DEFAULT_DOMAIN}/${OFFICIAL}sha256`;
const NAME_LENGTH_MAX = 255;

// Each of these reads its input once, left to right: no two alternatives can begin with the same character.
const DOMAIN = /^(?:\[[0-9a-fA-F:]+\]|[a-zA-Z0-9]+(?:(?:\.|-+)[a-zA-Z0-9]+)*)(?::[0-9]+)?$/;
const COMPONENT = /^[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*$/;
const TAG = /^\w[\w.-]{0,127}$/;
const DIGEST = /^[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}$/;
const SHA256 = /^sha256:[0-9a-f]{64}$/;
const HEX_ID = /^[0-9a-f]{64}$/;

/** Throws EngineError invalid_argument with the texts that clients know. */
export function parseReference(text: string): Reference {
  if (HEX_ID.test(text)) {
    throw invalidArgument(`invalid repository name (${text}), cannot specify 64-byte hexadecimal strings`);
  }
  if (text === '' || text.length > limits.referenceLengthMax) {
    throw invalidFormat();
  }
  const at = text.indexOf('@');
  const digest = at === -1 ? undefined : text.slice(at + 1);
  const named = at === -1 ? text : text.slice(0, at);
  const colon = named.lastIndexOf(':');
  const hasTag = colon > named.lastIndexOf('/');
  const tag = hasTag ? named.slice(colon + 1) : undefined;
  const { domain, path } = splitDomain(hasTag ? named.slice(0, colon) : named);
  checkName(domain, path);
  if (tag !== undefined && !TAG.test(tag)) {
    throw invalidFormat();
  }
  if (digest !== undefined && !DIGEST.test(digest)) {
    throw invalidFormat();
  }
  if (digest !== undefined && !SHA256.test(digest)) {
    throw invalidArgument(`invalid reference format: digest ${digest} is not a sha256 digest`);
  }
  return { domain, path, ...(tag === undefined ? {} : { tag }), ...(digest === undefined ? {} : { digest }) };
}

/** True for `host[:port]` as it may stand before an image's name. */
export function isRegistryName(text: string): boolean {
  return DOMAIN.test(text);
}

/** As `parseReference`, but undefined for what is no reference. */
export function tryParseReference(text: string): Reference | undefined {
  try {
    return parseReference(text);
  } catch {
    // Parsing touches nothing but its argument: the only failure is that it is no reference.
    return undefined;
  }
}

/** The same name with this tag. Throws invalid_argument `invalid tag format`. */
export function withTag(reference: Reference, tag: string): Reference {
  if (!TAG.test(tag)) {
    throw invalidArgument('invalid tag format');
  }
  return { domain: reference.domain, path: reference.path, tag };
}

/**
 * The reference, when an image may get it as a name: `sha256:abc` would be read as an id (moby reference/store.go).
 * Throws invalid_argument.
 */
export function nameable(reference: Reference): Reference {
  if (canonicalRepository(reference) === AMBIGUOUS) {
    throw invalidArgument('refusing to create an ambiguous tag using digest algorithm as name');
  }
  return reference;
}

/** A name without tag and digest means its `latest`. */
export function withDefaultTag(reference: Reference): Reference {
  return reference.tag === undefined && reference.digest === undefined
    ? { ...reference, tag: DEFAULT_TAG }
    : reference;
}

/** As stored: `docker.io/library/busybox`. */
export function canonicalRepository(reference: Pick<Reference, 'domain' | 'path'>): string {
  return `${reference.domain}/${reference.path}`;
}

/** As shown: `busybox`, `example/app`, `registry.example.com/app`. Takes a canonical repository. */
export function familiarRepository(repository: string): string {
  if (!repository.startsWith(`${DEFAULT_DOMAIN}/`)) {
    return repository;
  }
  const path = repository.slice(DEFAULT_DOMAIN.length + 1);
  const official = path.startsWith(OFFICIAL) ? path.slice(OFFICIAL.length) : path;
  return official.includes('/') ? path : official;
}

/** As shown, with tag and digest. */
export function familiarName(reference: Reference): string {
  const { tag, digest } = reference;
  const name = familiarRepository(canonicalRepository(reference));
  return `${name}${tag === undefined ? '' : `:${tag}`}${digest === undefined ? '' : `@${digest}`}`;
}

/**
 * The part before the first slash is a domain when it cannot be part of a Hub name: it has a dot, a port or capitals,
 * or is `localhost`.
 */
function splitDomain(name: string): { domain: string; path: string } {
  const slash = name.indexOf('/');
  const first = slash === -1 ? '' : name.slice(0, slash);
  const isDomain = first === 'localhost' || /[.:A-Z]/.test(first);
  const domain = isDomain && first !== LEGACY_DOMAIN ? first : DEFAULT_DOMAIN;
  const rest = isDomain ? name.slice(slash + 1) : name;
  const path = domain === DEFAULT_DOMAIN && !rest.includes('/') ? OFFICIAL + rest : rest;
  return { domain, path };
}

function checkName(domain: string, path: string): void {
  if (/[A-Z]/.test(path)) {
    throw invalidArgument(`invalid reference format: repository name (${path}) must be lowercase`);
  }
  if (!isRegistryName(domain) || !path.split('/').every((component) => COMPONENT.test(component))) {
    throw invalidFormat();
  }
  if (path.length > NAME_LENGTH_MAX || domain.length + 1 + path.length > NAME_LENGTH_MAX) {
    throw invalidArgument(`repository name must not be more than ${NAME_LENGTH_MAX} characters`);
  }
}

function invalidFormat(): EngineError {
  return invalidArgument('invalid reference format');
}
