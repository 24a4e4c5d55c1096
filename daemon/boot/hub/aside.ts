import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, open, rename } from 'node:fs/promises';
import path from 'node:path';
import type { BlobFiles } from '../../hub/registry/files/port.ts';
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
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    const name = `records-${new Date().toISOString().replaceAll(':', '')}.json`;
    const file = path.join(this.#directory, name);
    await using handle = await open(`${file}.tmp`, 'w', 0o600);
    await handle.writeFile(JSON.stringify(records));
    await handle.sync();
    await rename(`${file}.tmp`, file);
    await using directory = await open(this.#directory, 'r');
    await directory.sync();
    return file;
  }

  /** Digests of the registry that only they name. `isHostAside`: the database has some. */
  digests({ isHostAside }: { isHostAside: boolean }): Set<string> {
    const keys = [
      ...(isHostAside ? NAMING.flatMap((prefix) => Array.from(this.#local?.below(prefix) ?? [], keyOf)) : []),
      ...this.#saved().map(keyOf),
    ];
    return new Set(
      keys
        .filter((key) => NAMING.some((prefix) => key.startsWith(prefix)))
        .map((key) => key.slice(key.lastIndexOf('/') + 1)),
    );
  }

  #saved(): MovedRecord[] {
    const names = existsSync(this.#directory)
      ? readdirSync(this.#directory).filter((name) => /^records-.*\.json$/.test(name))
      : [];
    return names.flatMap(
      // `save` alone writes them.
      (name) => JSON.parse(readFileSync(path.join(this.#directory, name), 'utf8')) as MovedRecord[],
    );
  }
}

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
