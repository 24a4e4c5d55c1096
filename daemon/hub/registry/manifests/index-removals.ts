import { failpoint } from '../../../base/failpoint.ts';
import { limits } from '../../../base/limits.ts';
import type { Actor } from '../../occurrences/occurrence.ts';
import { Collection } from '../../records/collection.ts';
import type { RecordChange } from '../../records/port.ts';
import type { Repository } from '../../repositories/repository.ts';
import type { By } from '../by.ts';
import { nowMsOf, type RegistryDeps } from '../registry-deps.ts';
import { leavingWith, listedBelow, type LeavingQuery } from './leaving.ts';
import { isIndex, summaryOf, type Manifest } from './manifest.ts';

/**
 * That an index was deleted, and what it listed is still to be looked at. Records
 * `leftover/<repository's id>/<digest of the index>`.
 */
interface Leftover {
  index: string;
  pushedMs: number;
  /** Digests. */
  listed: readonly string[];
  /** Who deleted the index. */
  actor: Actor;
}

/**
 * The index of a repository that was put or deleted last. Records `index/<repository's id>`: who decides what no index
 * lists does so anew where another one was faster, also at another manager.
 */
interface LastIndex {
  digest: string;
}

type Deps = Pick<
  RegistryDeps,
  'mirror' | 'clock' | 'repositories' | 'outbox' | 'manifests' | 'tags' | 'artifacts'
>;

/** Deletes with an index what only it lists: as much as one update takes at once, the rest behind the answer. */
export class IndexRemovals {
  readonly #deps: Deps;
  readonly #leftovers: Collection<Leftover>;
  readonly #last: Collection<LastIndex>;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#leftovers = new Collection(deps.mirror, 'leftover/');
    this.#last = new Collection(deps.mirror, 'index/');
  }

  /** Goes with the put of a manifest. Called inside of `Mirror.change`. */
  putChanges({ id }: Repository, { digest, mediaType }: Manifest): readonly RecordChange[] {
    // Whatever is there: pushes do not wait for each other.
    return isIndex(mediaType) ? [{ kind: 'put', key: `index/${id}`, value: { digest } }] : [];
  }

  /** The end of a manifest, and of what goes with it where it is an index. Called inside of `Mirror.change`. */
  deleteChanges(by: By, manifest: Manifest): readonly RecordChange[] {
    const { digest, mediaType, pushedMs } = manifest;
    if (!isIndex(mediaType)) {
      return this.#removal(by, manifest);
    }
    const listed = listedBelow(this.#deps.manifests.of(by.repository.id), manifest);
    const left = {
      index: digest,
      pushedMs,
      listed: listed.slice(0, limits.hubLeftoversMax),
      actor: by.actor,
    };
    return this.#step(by, left, manifest).changes;
  }

  /** Goes on with what indexes have left. For the collector. */
  async collect(): Promise<void> {
    const { mirror } = this.#deps;
    for (const repository of this.#deps.repositories.all()) {
      for (const { index } of this.#leftovers.in(`${repository.id}/`)) {
        for (let isMore = true; isMore;) {
          failpoint('hub.manifest.leftover');
          isMore = await mirror.change(() => {
            const left = this.#leftovers.get(`${repository.id}/${index}`);
            return left === undefined
              ? { changes: [], answer: false }
              : this.#decided({ repository, actor: left.actor }, left);
          });
        }
      }
    }
  }

  #decided(by: By, left: Leftover): { changes: readonly RecordChange[]; answer: boolean } {
    const { changes, isMore } = this.#step(by, left, undefined);
    return { changes: [this.#deps.repositories.stillThere(by.repository), ...changes], answer: isMore };
  }

  /** `index`: undefined = it has gone before. `isMore`: there is something that may go now. */
  #step(
    by: By,
    left: Leftover,
    index: Manifest | undefined,
  ): { changes: readonly RecordChange[]; isMore: boolean } {
    const { manifests } = this.#deps;
    const { id } = by.repository;
    const all = manifests.of(id);
    const leaving = leavingWith(all, {
      index,
      listed: left.listed,
      stays: this.#staying(by.repository, left),
    });
    const [changes, gone] = this.#removals(by, leaving);
    const isMore = gone.size < leaving.length;
    const isAwaited = left.listed.some((digest) => {
      const found = manifests.get(id, digest);
      return found !== undefined && this.#isAwaited(found, left);
    });
    const listed = left.listed.filter(
      (digest) => !gone.has(digest) && manifests.get(id, digest) !== undefined,
    );
    const key = `${id}/${left.index}`;
    const isKept = isMore || isAwaited;
    const isChanged = index !== undefined || listed.length < left.listed.length;
    return {
      isMore,
      changes: [
        ...changes,
        ...(leaving.length === 0 ? [] : [this.#last.put(String(id), { digest: left.index })]),
        ...(isKept && isChanged ? [this.#leftovers.put(key, { ...left, listed })] : []),
        ...(!isKept && index === undefined ? [this.#leftovers.delete(key)] : []),
      ],
    };
  }

  /** Of as many as one update takes, the first one in any case; and the digests of these. */
  #removals(by: By, leaving: readonly Manifest[]): [RecordChange[], Set<string>] {
    const changes: RecordChange[] = [];
    const gone = new Set<string>();
    let bytes = 0;
    for (const manifest of leaving) {
      const more = this.#removal(by, manifest);
      bytes += Buffer.byteLength(JSON.stringify(more));
      const isTooMuch =
        changes.length + more.length > limits.hubChangesAtOnce || bytes > limits.hubRemovalsBytesMax;
      if (gone.size > 0 && isTooMuch) {
        break;
      }
      changes.push(...more);
      gone.add(manifest.digest);
    }
    return [changes, gone];
  }

  #removal(by: By, manifest: Manifest): RecordChange[] {
    const { manifests, artifacts, outbox, clock } = this.#deps;
    const { repository, actor } = by;
    const told = { kind: 'manifest-deleted', repository, manifest: summaryOf(manifest) } as const;
    return [
      manifests.delete(repository.id, manifest.digest),
      ...artifacts.removals(by, manifest),
      ...outbox.intents({ ...told, actor, atMs: nowMsOf(clock) }),
    ];
  }

  #staying({ id }: Repository, left: Leftover): LeavingQuery['stays'] {
    const tagged = new Set(this.#deps.tags.of(id).map(({ digest }) => digest));
    return (manifest) => tagged.has(manifest.digest) || this.#isAwaited(manifest, left);
  }

  /** Whether somebody has pushed it since, who may come to list it in another index. */
  #isAwaited({ pushedMs }: Manifest, left: Leftover): boolean {
    return pushedMs > left.pushedMs && pushedMs > nowMsOf(this.#deps.clock) - limits.hubBlobToldMs;
  }
}
