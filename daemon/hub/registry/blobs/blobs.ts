import type { RegistryBlob } from '../../../../api/types/hub/registry.ts';
import { failpoint } from '../../../base/failpoint.ts';
import type { Repository } from '../../repositories/repository.ts';
import { refusal } from '../refusal.ts';
import { nowMsOf, type RegistryDeps } from '../registry-deps.ts';
import { told, type BlobLink } from './links.ts';

/** The blobs of repositories. Digests are well-formed. Throws BLOB_UNKNOWN for what a repository does not have. */
export class Blobs {
  readonly #deps: RegistryDeps;

  constructor(deps: RegistryDeps) {
    this.#deps = deps;
  }

  /** A blob that the disk has lost, and that no other host holds, is uploaded again. */
  async size(repository: Repository, digest: string): Promise<number> {
    const size = await this.#deps.fetches.size(this.#link(repository, digest));
    if (size === undefined) {
      throw this.#lost(repository, digest);
    }
    return size;
  }

  async open(repository: Repository, digest: string): Promise<RegistryBlob> {
    const blob = await this.#deps.fetches.open(this.#link(repository, digest));
    if (blob === undefined) {
      throw this.#lost(repository, digest);
    }
    return blob;
  }

  /** Somebody who pushes was told that the blob is there: it stays for a while, also if no manifest names it. */
  async keep(repository: Repository, digest: string): Promise<void> {
    const { mirror, links, repositories, clock } = this.#deps;
    await mirror.change(() => {
      const link = this.#link(repository, digest);
      const { size } = link;
      const kept = told(link, { digest, size }, nowMsOf(clock));
      const changes = [repositories.stillThere(repository), links.put(repository.id, kept)];
      return { changes, answer: undefined };
    });
  }

  /** Whether a push waits for it, whose client has shown that it has the bytes. */
  isPending({ id }: Repository, digest: string): boolean {
    return (this.#deps.links.get(id, digest)?.pendingMs ?? 0) > 0;
  }

  /** Gives a repository a blob that `place` puts in its place. Throws DENIED by quota; not_found. */
  async adopt(
    repository: Repository,
    { digest, size }: { digest: string; size: number },
    place: () => Promise<void>,
  ): Promise<void> {
    const { mirror, links, locks, quota, repositories, clock, copies } = this.#deps;
    await locks.run(digest, async () => {
      quota.refuse(repository, { digest, size });
      await place();
      failpoint('hub.blob.adopt');
      await mirror.change(() => {
        quota.refuse(repository, { digest, size });
        const link = told(links.get(repository.id, digest), { digest, size }, nowMsOf(clock));
        const changes = [repositories.stillThere(repository), links.put(repository.id, link)];
        return { changes, answer: undefined };
      });
    });
    copies.begin(repository.id, { digest, size });
  }

  /** Gives a repository a layer that the engine offers. False = it offers none such. As `adopt`. */
  async take(
    repository: Repository,
    { digest, ticket }: { digest: string; ticket: string },
  ): Promise<boolean> {
    const { layers, files } = this.#deps;
    const size = layers?.offered(ticket, digest);
    if (layers === undefined || size === undefined) {
      return false;
    }
    await this.adopt(repository, { digest, size }, async () => {
      if ((await files.size(digest)) === undefined) {
        layers.keep(ticket, digest);
      }
    });
    return true;
  }

  /** Gives a repository a blob that another one has. False = that has it not, or no more. */
  async mount(repository: Repository, digest: string, from: Repository): Promise<boolean> {
    const { mirror, links, locks, files, quota, repositories, clock } = this.#deps;
    return await locks.run(digest, async () => {
      if (links.get(from.id, digest) === undefined || (await files.size(digest)) === undefined) {
        return false;
      }
      failpoint('hub.blob.mount');
      return await mirror.change(() => {
        const source = links.get(from.id, digest);
        if (source === undefined) {
          return { changes: [], answer: false };
        }
        quota.refuse(repository, { digest, size: source.size });
        const { size } = source;
        const link = told(links.get(repository.id, digest), { digest, size }, nowMsOf(clock));
        const isOther = from.id !== repository.id;
        return {
          changes: [
            repositories.stillThere(repository),
            ...(isOther ? [links.unchanged(from.id, digest)] : []),
            links.put(repository.id, link),
          ],
          answer: true,
        };
      });
    });
  }

  /** Throws DENIED while a manifest of the repository names it. */
  async delete(repository: Repository, digest: string): Promise<void> {
    const { mirror, links, manifests, repositories } = this.#deps;
    failpoint('hub.blob.delete');
    await mirror.change(() => {
      this.#link(repository, digest);
      if (manifests.blobsOf(repository.id).has(digest)) {
        throw refusal('DENIED', 'blob is part of a manifest of this repository: delete that first', {
          detail: { digest },
        });
      }
      const changes = [repositories.stillThere(repository), links.delete(repository.id, digest)];
      return { changes, answer: undefined };
    });
  }

  #link({ id }: Repository, digest: string): BlobLink {
    const link = this.#deps.links.get(id, digest);
    if (link === undefined) {
      throw unknown(digest);
    }
    return link;
  }

  #lost({ id }: Repository, digest: string): Error {
    this.#deps.log.error({ repository: id, digest }, 'a blob of the registry is not on the disk');
    return unknown(digest);
  }
}

function unknown(digest: string): Error {
  return refusal('BLOB_UNKNOWN', 'blob unknown to registry', { detail: { digest } });
}
