import type { Caller } from '../../identity/caller.ts';
import { covers, tagsWith } from '../../oauth/scopes/access.ts';
import type { Right } from '../../oauth/scopes/names.ts';
import { blobsOf } from '../../registry/manifests/manifest.ts';
import { parseManifest } from '../../registry/manifests/parse.ts';
import type { Reached } from '../../registry/manifests/reach.ts';
import type { Reference } from '../../registry/names/name.ts';
import { refusal } from '../../registry/refusal.ts';
import type { Repository } from '../../repositories/repository.ts';
import type { SessionDeps } from '../session-deps.ts';

type Deps = Pick<SessionDeps, 'registry'>;

/**
 * What a caller may do in a repository of which it was granted some tags only. It sees those tags, and by digest what
 * they lead to. To push one of them it uploads blobs, and manifests that no tag leads to yet.
 */
export class TagBounds {
  readonly #deps: Deps;
  readonly #caller: Caller;

  constructor(deps: Deps, caller: Caller) {
    this.#deps = deps;
    this.#caller = caller;
  }

  /** Those of the tags that may be pulled. */
  seen(repository: Repository, tags: readonly string[]): readonly string[] {
    const bounds = this.#boundsOf(repository, 'pull');
    return bounds === undefined ? tags : tags.filter((tag) => bounds.includes(tag));
  }

  hasManifest(repository: Repository, digest: string): boolean {
    const reached = this.#reached(repository);
    return reached === undefined || reached.manifests.has(digest);
  }

  hasBlob(repository: Repository, digest: string): boolean {
    const reached = this.#reached(repository);
    return reached === undefined || reached.blobs.has(digest);
  }

  /** Throws BLOB_UNKNOWN: also for what is there, of other tags. */
  refuseBlob(repository: Repository, digest: string): void {
    if (!this.hasBlob(repository, digest)) {
      throw refusal('BLOB_UNKNOWN', 'blob unknown to registry', { detail: { digest } });
    }
  }

  /** Throws DENIED for another tag, MANIFEST_UNKNOWN for what the granted ones do not lead to. */
  refuseManifest(repository: Repository, asked: Reference, name: string): void {
    if (asked.kind === 'tag') {
      this.#refuseTag(repository, 'pull', asked.tag, name);
    } else if (!this.hasManifest(repository, asked.digest)) {
      throw refusal('MANIFEST_UNKNOWN', `manifest unknown: ${asked.digest}`, {
        detail: { reference: asked.digest },
      });
    }
  }

  /** Throws DENIED for another tag, and for a manifest that is made of, or about, what other tags have. */
  refusePut(
    repository: Repository,
    asked: Reference,
    body: { mediaType: string | undefined; bytes: Buffer },
    name: string,
  ): void {
    const bounds = this.#boundsOf(repository, 'push');
    if (bounds === undefined) {
      return;
    }
    if (asked.kind === 'tag') {
      this.#refuseTag(repository, 'push', asked.tag, name);
    }
    const parsed = parseManifest(body.bytes, body.mediaType);
    const { registry } = this.#deps;
    const own = registry.manifests.reached(repository, bounds);
    const tagged = registry.manifests.reached(repository, registry.manifests.tags(repository));
    const parts = [
      ...parsed.children.map(({ digest }) => digest),
      ...(parsed.subject === null ? [] : [parsed.subject]),
    ];
    const isOthers =
      parts.some((digest) => tagged.manifests.has(digest) && !own.manifests.has(digest)) ||
      blobsOf(parsed).some(
        ({ digest }) =>
          tagged.blobs.has(digest) && !own.blobs.has(digest) && !registry.blobs.isPending(repository, digest),
      );
    if (isOthers) {
      throw denied(name, `of other tags than ${bounds.join(', ')} nothing may be used`);
    }
  }

  /** Throws DENIED for another tag, and for a digest, with which all tags go. */
  refuseDelete(repository: Repository, asked: Reference, name: string): void {
    if (asked.kind === 'tag') {
      this.#refuseTag(repository, 'delete-images', asked.tag, name);
    } else {
      this.refuseWhole(repository, 'delete-images', name);
    }
  }

  /** Throws DENIED where only some tags are granted. */
  refuseWhole(repository: Repository, right: Right, name: string): void {
    const bounds = this.#boundsOf(repository, right);
    if (bounds !== undefined) {
      throw denied(name, `only the tags ${bounds.join(', ')} are granted`);
    }
  }

  #refuseTag(repository: Repository, right: Right, tag: string, name: string): void {
    const bounds = this.#boundsOf(repository, right);
    if (bounds?.includes(tag) === false) {
      throw denied(name, `the tag ${tag} is not granted, but ${bounds.join(', ')}`);
    }
  }

  #reached(repository: Repository): Reached | undefined {
    const bounds = this.#boundsOf(repository, 'pull');
    return bounds && this.#deps.registry.manifests.reached(repository, bounds);
  }

  /** Undefined = there are none. */
  #boundsOf({ id, owner, isPrivate }: Repository, right: Right): string[] | undefined {
    const caller = this.#caller;
    const isOpen = right === 'pull' && !isPrivate;
    if (caller.kind !== 'delegate' || isOpen) {
      return undefined;
    }
    const { accesses } = caller.token;
    const place = { kind: 'repository', owner: owner.id, repository: id } as const;
    return covers(accesses, right, place) ? undefined : tagsWith(accesses, right, id);
  }
}

function denied(name: string, why: string): Error {
  return refusal('DENIED', `requested access to the resource is denied: ${why}`, { detail: { name } });
}
