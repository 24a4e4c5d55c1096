import { randomUUID } from 'node:crypto';
import type { RegistryUpload, UploadBody } from '../../../../api/types/hub/registry.ts';
import { KeyedMutex } from '../../../base/concurrency/mutex.ts';
import { isEngineError } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import type { Repository } from '../../repositories/repository.ts';
import type { Blobs } from '../blobs/blobs.ts';
import type { UploadFile } from '../files/port.ts';
import { refusal } from '../refusal.ts';
import { nowMsOf, type RegistryDeps } from '../registry-deps.ts';

interface Known {
  file: UploadFile;
  changedMs: number;
}

/**
 * Blobs that are being uploaded, each into one repository. An upload outlives its connections and the daemon; after
 * `limits.hubUploadIdleMs` without a byte it is given up.
 */
export class Uploads {
  readonly #deps: RegistryDeps;
  readonly #blobs: Blobs;
  /** By id, `<repository's id>.<uuid>`. */
  readonly #known = new Map<string, Known>();
  /** By id: one request at a time adds to an upload. */
  readonly #turns = new KeyedMutex();

  constructor(deps: RegistryDeps, blobs: Blobs) {
    this.#deps = deps;
    this.#blobs = blobs;
  }

  /** Takes over those of an earlier daemon. */
  async load(): Promise<void> {
    const { files } = this.#deps;
    for (const { id, changedMs } of await files.uploads()) {
      const file = await files.findUpload(id);
      if (file !== undefined) {
        this.#known.set(id, { file, changedMs });
      }
    }
  }

  /** Throws TOOMANYREQUESTS, DENIED by quota, resource_exhausted. */
  async start(repository: Repository): Promise<RegistryUpload> {
    const prefix = `${repository.id}.`;
    const running = [...this.#known.keys()].filter((id) => id.startsWith(prefix)).length;
    if (running >= limits.hubUploadsOfRepositoryMax) {
      throw refusal(
        'TOOMANYREQUESTS',
        `${running} uploads are under way in this repository: finish or cancel some`,
      );
    }
    const id = prefix + randomUUID();
    await this.#makeRoom(repository, id, 1);
    this.#deps.quota.watch(repository, () => this.#beside(repository, id))(1);
    const file = await this.#deps.files.createUpload(id);
    this.#known.set(id, { file, changedMs: this.#nowMs() });
    return { id, size: 0 };
  }

  /** Throws BLOB_UPLOAD_UNKNOWN. */
  status(repository: Repository, id: string): RegistryUpload {
    return { id, size: this.#find(repository, id).file.size };
  }

  /** Throws BLOB_UPLOAD_UNKNOWN; RANGE_INVALID where the bytes do not follow those that are there; SIZE_INVALID. */
  append(repository: Repository, id: string, body: UploadBody): Promise<RegistryUpload> {
    return this.#turns.run(id, async () => {
      const known = this.#find(repository, id);
      await this.#append(repository, id, known, body);
      return { id, size: known.file.size };
    });
  }

  /** As `append`, and the whole becomes a blob of the repository. Throws DIGEST_INVALID; then the upload is gone. */
  finish(repository: Repository, id: string, digest: string, body: UploadBody): Promise<void> {
    return this.#turns.run(id, async () => {
      const known = this.#find(repository, id);
      const { file } = known;
      await this.#append(repository, id, known, body);
      const actual = await file.digest();
      if (actual !== digest) {
        await this.#forget(id, file);
        throw refusal('DIGEST_INVALID', 'provided digest did not match uploaded content', {
          detail: { provided: digest, actual },
        });
      }
      const blob = { digest, size: file.size };
      try {
        await this.#blobs.adopt(repository, blob, () => this.#place(id, file, blob));
      } catch (error) {
        if (isEngineError(error, 'forbidden')) {
          // Nobody will come to finish what the quota has no room for.
          await this.#forget(id, file);
        }
        throw error;
      }
    });
  }

  cancel(repository: Repository, id: string): Promise<void> {
    return this.#turns.run(id, async () => {
      await this.#forget(id, this.#find(repository, id).file);
    });
  }

  /** Gives up those that nothing was added to for long, and those of repositories that are gone. */
  async expire(): Promise<void> {
    const living = new Set(this.#deps.repositories.all().map(({ id }) => String(id)));
    const before = this.#nowMs() - limits.hubUploadIdleMs;
    for (const [id, { file, changedMs }] of this.#known) {
      const isOver = changedMs < before || !living.has(id.slice(0, id.indexOf('.')));
      if (isOver && !this.#turns.isLocked(id)) {
        await this.#forget(id, file);
      }
    }
  }

  async #append(
    repository: Repository,
    id: string,
    known: Known,
    { bytes, length, range }: UploadBody,
  ): Promise<void> {
    const { file } = known;
    refuseRange(file.size, length, range);
    if (length === 0) {
      return;
    }
    const before = file.size;
    await this.#makeRoom(repository, id, before + (length ?? 1));
    const watch = this.#deps.quota.watch(repository, () => this.#beside(repository, id));
    try {
      watch(before + (length ?? 0));
      await file.append(bytes, watch);
    } catch (error) {
      if (isEngineError(error, 'forbidden')) {
        // What there is no room for would keep the room from the next try.
        await this.#forget(id, file);
      }
      throw error;
    } finally {
      known.changedMs = this.#nowMs();
    }
    const got = file.size - before;
    const wanted = range === undefined ? length : range.end - range.start + 1;
    if (wanted !== undefined && wanted !== got) {
      throw refusal('SIZE_INVALID', `content has ${got} bytes where ${wanted} were said`, {
        detail: { range: `0-${file.size - 1}` },
      });
    }
  }

  /** Bytes of the owner's other uploads to which somebody adds. */
  #beside(repository: Repository, id: string): number {
    return this.#others(repository, id)
      .filter(([other, known]) => !this.#isLeft(other, known))
      .reduce((all, [, { file }]) => all + file.size, 0);
  }

  /** Where there is no room beside all uploads of the owner, those that somebody has left go. */
  async #makeRoom(repository: Repository, id: string, size: number): Promise<void> {
    const others = this.#others(repository, id);
    const all = others.reduce((bytes, [, { file }]) => bytes + file.size, size);
    if (this.#deps.quota.hasRoom(repository, all)) {
      return;
    }
    for (const [other, known] of others) {
      if (this.#isLeft(other, known)) {
        await this.#turns.run(other, () => this.#forget(other, known.file));
      }
    }
  }

  #others({ owner }: Repository, id: string): [string, Known][] {
    const own = new Set(this.#deps.repositories.ofOwner(owner).map((each) => String(each.id)));
    return [...this.#known].filter(([other]) => other !== id && own.has(other.slice(0, other.indexOf('.'))));
  }

  /** It does not count any more for the quota, and gives way to others. */
  #isLeft(id: string, { changedMs }: Known): boolean {
    return !this.#turns.isLocked(id) && changedMs < this.#nowMs() - limits.hubUploadLeftMs;
  }

  async #place(
    id: string,
    file: UploadFile,
    { digest, size }: { digest: string; size: number },
  ): Promise<void> {
    const isThere = (await this.#deps.files.size(digest)) === size;
    if (isThere) {
      await this.#forget(id, file);
      return;
    }
    await file.publish(digest);
    this.#known.delete(id);
  }

  async #forget(id: string, file: UploadFile): Promise<void> {
    await file.remove();
    this.#known.delete(id);
  }

  #find({ id: repository }: Repository, id: string): Known {
    const known = id.startsWith(`${repository}.`) ? this.#known.get(id) : undefined;
    if (known === undefined) {
      throw refusal('BLOB_UPLOAD_UNKNOWN', 'blob upload unknown to registry', {
        detail: { upload: id.slice(0, 64) },
      });
    }
    return known;
  }

  #nowMs(): number {
    return nowMsOf(this.#deps.clock);
  }
}

function refuseRange(size: number, length: number | undefined, range: UploadBody['range']): void {
  if (range === undefined) {
    return;
  }
  const { start, end } = range;
  if (start !== size || end < start) {
    throw refusal('RANGE_INVALID', `chunk begins at byte ${start}, but ${size} are there`, {
      detail: { range: size === 0 ? '0-0' : `0-${size - 1}` },
      details: { uploaded: size },
    });
  }
  if (length !== undefined && end - start + 1 !== length) {
    throw refusal('SIZE_INVALID', `Content-Range has ${end - start + 1} bytes, Content-Length ${length}`);
  }
}
