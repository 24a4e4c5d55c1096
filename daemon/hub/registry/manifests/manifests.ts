import { createHash } from 'node:crypto';
import type { RegistryDescriptor, RegistryManifest } from '../../../../api/types/hub/registry.ts';
import { errorText } from '../../../base/errors.ts';
import { failpoint } from '../../../base/failpoint.ts';
import { limits } from '../../../base/limits.ts';
import { occurrenceId } from '../../occurrences/occurrence-id.ts';
import type { Actor, Happening, Occurrence } from '../../occurrences/occurrence.ts';
import type { RecordChange } from '../../records/port.ts';
import type { Repository } from '../../repositories/repository.ts';
import type { Reference } from '../names/name.ts';
import { refusal } from '../refusal.ts';
import { nowMsOf, type RegistryDeps } from '../registry-deps.ts';
import type { CheckedArtifact } from '../artifacts/port.ts';
import type { By } from '../by.ts';
import { ManifestCache } from './cache.ts';
import { named } from '../blobs/links.ts';
import { blobsOf, isImage, summaryOf, type Manifest } from './manifest.ts';
import type { IndexRemovals } from './index-removals.ts';
import { reachedFrom, type Reached } from './reach.ts';
import { labelsOf, parseManifest, type ParsedManifest } from './parse.ts';

export interface PutManifest {
  mediaType: string | undefined;
  bytes: Buffer;
  /** Digest of the manifest whose place it takes: that one goes, and its tags lead to this one. */
  replaces?: string;
}

export interface PutResult {
  manifest: Manifest;
  /** Id of the push; undefined = no tag was moved. */
  occurrence: string | undefined;
}

/** The manifests of repositories, by tag and digest. Throws MANIFEST_UNKNOWN for what a repository does not have. */
export class Manifests {
  readonly #deps: RegistryDeps;
  readonly #cache = new ManifestCache(limits.hubManifestCacheBytes);
  readonly #removals: IndexRemovals;

  constructor(deps: RegistryDeps, removals: IndexRemovals) {
    this.#deps = deps;
    this.#removals = removals;
  }

  find(repository: Repository, reference: Reference): Manifest {
    const { manifests, tags } = this.#deps;
    const digest =
      reference.kind === 'digest' ? reference.digest : tags.get(repository.id, reference.tag)?.digest;
    const manifest = digest === undefined ? undefined : manifests.get(repository.id, digest);
    if (manifest === undefined) {
      throw unknown(reference);
    }
    return manifest;
  }

  /** Undefined = the repository does not have it. */
  peek({ id }: Repository, digest: string): Manifest | undefined {
    return this.#deps.manifests.get(id, digest);
  }

  async read(repository: Repository, reference: Reference): Promise<RegistryManifest> {
    const found = this.find(repository, reference);
    const { digest, mediaType, children } = found;
    const bytes = this.#cache.get(digest) ?? (await this.#deps.fetches.read(found));
    if (bytes === undefined) {
      this.#deps.log.error(
        { repository: repository.id, digest },
        'a manifest of the registry is not on the disk',
      );
      throw unknown(reference);
    }
    this.#cache.set(digest, bytes);
    return {
      digest,
      mediaType,
      bytes,
      children: children.map(({ platform, ...child }) => ({ ...child, platform: platform ?? undefined })),
    };
  }

  /**
   * Takes a manifest, and names it by a tag. Its bytes are on the disk before a record tells of them. Throws
   * MANIFEST_INVALID; MANIFEST_BLOB_UNKNOWN for what it names and the repository has not; DIGEST_INVALID; DENIED;
   * MANIFEST_UNKNOWN when what it replaces is not there any more; UNAVAILABLE where too few managers hold all of it.
   */
  async put({ repository, actor }: By, reference: Reference, put: PutManifest): Promise<PutResult> {
    const { bytes } = put;
    const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
    if (reference.kind === 'digest' && reference.digest !== digest) {
      throw refusal('DIGEST_INVALID', 'provided digest did not match the manifest', {
        detail: { provided: reference.digest, actual: digest },
      });
    }
    const parsed = parseManifest(bytes, put.mediaType);
    this.#refuseMissing(repository, parsed);
    const manifest = await this.#described(parsed, { digest, size: bytes.length });
    const { locks, files, mirror, quota, artifacts, copies } = this.#deps;
    const artifact = await artifacts.check(parsed);
    await copies.hold(repository.id, blobsOf(parsed));
    const occurrence = await locks.run(digest, async () => {
      quota.refuse(repository, manifest);
      await files.put(digest, bytes);
      await copies.hold(repository.id, [manifest]);
      failpoint('hub.manifest.publish');
      return await mirror.change(() => {
        this.#refuseMissing(repository, parsed);
        quota.refuse(repository, manifest);
        const push = this.#tagMove({ repository, actor }, reference, manifest);
        return {
          changes: [
            ...this.#putChanges(repository, reference, manifest),
            ...(push === undefined ? [] : this.#deps.outbox.intents(push)),
            ...this.#artifactChanges({ repository, actor }, manifest, artifact, put.replaces),
          ],
          answer: push && occurrenceId(push),
        };
      });
    });
    this.#cache.set(digest, bytes);
    return { manifest, occurrence };
  }

  /** A tag alone goes by its name; a digest goes with all of its tags, and an index with what only it lists. */
  async delete({ repository, actor }: By, reference: Reference): Promise<void> {
    const { mirror, tags, repositories } = this.#deps;
    failpoint('hub.manifest.delete');
    await mirror.change(() => {
      const manifest = this.find(repository, reference);
      const { id } = repository;
      const names =
        reference.kind === 'tag'
          ? [reference.tag]
          : tags.of(id).flatMap(({ tag, digest }) => (digest === manifest.digest ? [tag] : []));
      const before = summaryOf(manifest);
      return {
        changes: [
          repositories.stillThere(repository),
          ...names.map((tag) => tags.delete(id, tag)),
          ...names.flatMap((tag) =>
            this.#intents(actor, { kind: 'tag', repository, tag, before, after: null }),
          ),
          ...(reference.kind === 'digest'
            ? this.#removals.deleteChanges({ repository, actor }, manifest)
            : []),
        ],
        answer: undefined,
      };
    });
  }

  /** Tells those who listen that somebody has pulled, behind the answer. */
  notePull({ repository, actor }: By, reference: Reference): void {
    const { mirror, log } = this.#deps;
    const tag = reference.kind === 'tag' ? reference.tag : null;
    const intents = (): readonly RecordChange[] => {
      const manifest = summaryOf(this.find(repository, reference));
      return this.#intents(actor, { kind: 'pulled', repository, manifest, tag });
    };
    if (intents().length > 0) {
      void mirror
        .change(() => ({ changes: intents(), answer: undefined }))
        .catch((error: unknown) => {
          log.warn({ reason: errorText(error) }, 'a pull was not told to who listens for it');
        });
    }
  }

  /** In order. */
  tags({ id }: Repository): string[] {
    return this.#deps.tags
      .of(id)
      .map(({ tag }) => tag)
      .toSorted();
  }

  /** Those that lead to a manifest, in order. */
  tagsOf({ id }: Repository, digest: string): string[] {
    return this.#deps.tags
      .of(id)
      .flatMap((tag) => (tag.digest === digest ? [tag.tag] : []))
      .toSorted();
  }

  /** The manifests whose subject this is. */
  referrers({ id }: Repository, digest: string): RegistryDescriptor[] {
    return this.#deps.manifests
      .of(id)
      .filter(({ subject }) => subject === digest)
      .toSorted((one, other) => one.pushedMs - other.pushedMs || (one.digest < other.digest ? -1 : 1))
      .map(({ mediaType, digest: own, size, artifactType, config, annotations }) => ({
        mediaType,
        digest: own,
        size,
        ...((artifactType ?? config) !== null && { artifactType: artifactType ?? config?.mediaType ?? '' }),
        ...(Object.keys(annotations).length > 0 && { annotations }),
      }));
  }

  /** What tags lead to. */
  reached({ id }: Repository, tags: readonly string[]): Reached {
    const starts = tags.flatMap((tag) => this.#deps.tags.get(id, tag)?.digest ?? []);
    return reachedFrom(this.#deps.manifests.of(id), starts);
  }

  isEmpty({ id }: Repository): boolean {
    return this.#deps.manifests.of(id).length === 0;
  }

  #refuseMissing({ id }: Repository, parsed: ParsedManifest): void {
    const { links, manifests } = this.#deps;
    for (const { digest, size } of blobsOf(parsed)) {
      const link = links.get(id, digest);
      if (link === undefined) {
        throw missing(digest);
      }
      if (link.size !== size) {
        throw refusal('MANIFEST_INVALID', `manifest invalid: ${digest} has ${link.size} bytes, not ${size}`, {
          detail: { digest },
        });
      }
    }
    for (const { digest } of parsed.children) {
      if (manifests.get(id, digest) === undefined) {
        throw missing(digest);
      }
    }
  }

  async #described(
    parsed: ParsedManifest,
    { digest, size }: { digest: string; size: number },
  ): Promise<Manifest> {
    const { config } = parsed;
    const isRead = config !== null && isImage(parsed) && config.size <= limits.hubConfigBytesMax;
    const bytes = isRead ? await this.#deps.fetches.read(config) : undefined;
    const labels = bytes === undefined ? {} : labelsOf(bytes);
    return { ...parsed, digest, size, labels, pushedMs: nowMsOf(this.#deps.clock) };
  }

  /** What is kept beside an artifact, and the end of the one whose place it takes. */
  #artifactChanges(
    by: By,
    manifest: Manifest,
    artifact: CheckedArtifact | undefined,
    replaces: string | undefined,
  ): readonly RecordChange[] {
    const { manifests, tags } = this.#deps;
    const { id } = by.repository;
    const old =
      replaces === undefined ? undefined : this.find(by.repository, { kind: 'digest', digest: replaces });
    const isSame = old?.digest === manifest.digest;
    const moved =
      old === undefined || isSame ? [] : tags.of(id).filter(({ digest }) => digest === old.digest);
    return [
      ...(old === undefined || isSame ? [] : [manifests.delete(id, old.digest)]),
      ...moved.map(({ tag }) => tags.put(id, { tag, digest: manifest.digest, updatedMs: manifest.pushedMs })),
      ...moved.flatMap(({ tag }) => {
        const push = this.#tagMove(by, { kind: 'tag', tag }, manifest);
        return push === undefined ? [] : this.#deps.outbox.intents(push);
      }),
      ...(artifact?.changes(by, manifest, old) ?? []),
    ];
  }

  /** Undefined where the tag was there already. */
  #tagMove({ repository, actor }: By, reference: Reference, manifest: Manifest): Occurrence | undefined {
    if (reference.kind === 'digest') {
      return undefined;
    }
    const { tags, manifests } = this.#deps;
    const { tag } = reference;
    const digest = tags.get(repository.id, tag)?.digest;
    const known = digest === undefined ? undefined : manifests.get(repository.id, digest);
    const [before, after] = [known === undefined ? null : summaryOf(known), summaryOf(manifest)];
    return digest === manifest.digest
      ? undefined
      : { kind: 'tag', repository, tag, before, after, actor, atMs: nowMsOf(this.#deps.clock) };
  }

  #intents(actor: Actor, happening: Happening): readonly RecordChange[] {
    return this.#deps.outbox.intents({ ...happening, actor, atMs: nowMsOf(this.#deps.clock) });
  }

  /** Everything that it names is as it was when it was looked at, and no push waits for it any more. */
  #putChanges(repository: Repository, reference: Reference, manifest: Manifest): RecordChange[] {
    const { links, manifests, tags, repositories } = this.#deps;
    const { id } = repository;
    const children = new Set(manifest.children.map(({ digest }) => digest));
    const isNew = manifests.get(id, manifest.digest) === undefined;
    return [
      repositories.stillThere(repository),
      ...blobsOf(manifest).map(({ digest, size }) => {
        const link = links.get(id, digest) ?? { digest, size, pendingMs: 0 };
        const isWaited = link.pendingMs > 0 || (isNew && (link.pushes ?? 0) > 0);
        return isWaited ? links.put(id, named(link, isNew)) : links.unchanged(id, digest);
      }),
      ...[...children].map((digest) => manifests.unchanged(id, digest)),
      manifests.put(id, manifest),
      ...this.#removals.putChanges(repository, manifest),
      ...(reference.kind === 'tag'
        ? [tags.put(id, { tag: reference.tag, digest: manifest.digest, updatedMs: manifest.pushedMs })]
        : []),
    ];
  }
}

function missing(digest: string): Error {
  return refusal(
    'MANIFEST_BLOB_UNKNOWN',
    `manifest references ${digest}, which this repository does not have`,
    {
      detail: { digest },
    },
  );
}

function unknown(reference: Reference): Error {
  const text = reference.kind === 'tag' ? reference.tag : reference.digest;
  return refusal('MANIFEST_UNKNOWN', `manifest unknown: ${text}`, { detail: { reference: text } });
}
