import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import type { BlobFiles } from '../../hub/registry/files/port.ts';
import type { AsideSource } from '../../hub/aside/restore.ts';
import type { LocalSet, MovedRecord } from '../../hub/records/move/local-set.ts';

/** Records of repositories that name a file of the registry, `blob/12/sha256:...`. */
const NAMING = ['blob/', 'manifest/'] as const;

/** Records that are not in use on this host and may be again: in its database, or in files. */
export class Aside {
  readonly #directory: string;
  readonly #local: LocalSet | undefined;

  constructor(directory: string, local?: LocalSet) {
    this.#directory = directory;
    this.#local = local;
  }

  /** In a file of its own, JSON of all records, on the disk when it resolves. Answers its path. */
  async save(records: readonly MovedRecord[]): Promise<string> {
    return await this.#write('records', records);
  }

  /** Blobs that no record on this host names, and that are not to be collected. Answers the path of their list. */
  async keep(digests: readonly string[]): Promise<string> {
    return await this.#write('blobs', digests);
  }

  /** `isHostAside`: the database has some. */
  sources({ isHostAside }: { isHostAside: boolean }): AsideSource[] {
    const local = this.#local;
    const files = this.#names('records').map((name): AsideSource => {
      const file = path.join(this.#directory, name);
      return {
        name,
        // `save` alone writes them.
        records: () => JSON.parse(readFileSync(file, 'utf8')) as MovedRecord[],
        drop: () => rm(file, { force: true }),
      };
    });
    if (local?.hasAccounts !== true || !isHostAside) {
      return files;
    }
    const drop = (): Promise<void> => Promise.resolve(local.clear());
    return [{ name: HOST, records: () => [...local.below('')], drop }, ...files];
  }

  /** Digests of the registry that only they name. `isHostAside`: the database has some. */
  digests({ isHostAside }: { isHostAside: boolean }): Set<string> {
    const keys = [
      ...(isHostAside ? NAMING.flatMap((prefix) => Array.from(this.#local?.below(prefix) ?? [], keyOf)) : []),
      // `save` alone writes them.
      ...this.#read('records').flatMap((records) => (records as MovedRecord[]).map(keyOf)),
    ];
    const named = keys
      .filter((key) => NAMING.some((prefix) => key.startsWith(prefix)))
      .map((key) => key.slice(key.lastIndexOf('/') + 1));
    // `keep` alone writes them.
    return new Set([...named, ...this.#read('blobs').flatMap((digests) => digests as string[])]);
  }

  async #write(kind: Kind, value: unknown): Promise<string> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    const name = `${kind}-${new Date().toISOString().replaceAll(':', '')}.json`;
    const file = path.join(this.#directory, name);
    await using handle = await open(`${file}.tmp`, 'w', 0o600);
    await handle.writeFile(JSON.stringify(value));
    await handle.sync();
    await rename(`${file}.tmp`, file);
    await using directory = await open(this.#directory, 'r');
    await directory.sync();
    return file;
  }

  #read(kind: Kind): unknown[] {
    return this.#names(kind).map((name) =>
      JSON.parse(readFileSync(path.join(this.#directory, name), 'utf8')),
    );
  }

  #names(kind: Kind): string[] {
    const names = existsSync(this.#directory) ? readdirSync(this.#directory) : [];
    return names.filter((name) => name.startsWith(`${kind}-`) && name.endsWith('.json')).toSorted();
  }
}

/** What is aside in the database of this host. */
const HOST = 'host';

/** Records that another hub's took the place of; digests of blobs that nobody took. */
type Kind = 'records' | 'blobs';

function keyOf({ key }: MovedRecord): string {
  return key;
}

/** The files of the registry without those that the collector must not take. */
export function filesWithout(files: BlobFiles, digests: ReadonlySet<string>): BlobFiles {
  return {
    size: (digest) => files.size(digest),
    open: (digest) => files.open(digest),
    read: (digest) => files.read(digest),
    put: (digest, bytes) => files.put(digest, bytes),
    remove: (digest) => (digests.has(digest) ? Promise.resolve(false) : files.remove(digest)),
    digests: async () => (await files.digests()).filter((digest) => !digests.has(digest)),
    createIncoming: (blob) => files.createIncoming(blob),
    createUpload: (id) => files.createUpload(id),
    findUpload: (id) => files.findUpload(id),
    uploads: () => files.uploads(),
  };
}
