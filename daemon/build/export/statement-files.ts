import { createHash, randomBytes, type Hash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { normalizeName } from '../../../storage/tar/names.ts';
import { TarParser, type TarMember, type TarSink } from '../../../storage/tar/parser.ts';
import { EngineError, invalidArgument } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { limits } from '../../base/limits.ts';
import {
  digestSet,
  statementsOf,
  type Attestation,
  type Subject,
} from '../../../storage/image-archives/statement.ts';
import type { ExportDeps } from './ports.ts';
import { treesTar, type TarredTree } from './tree-tar.ts';

const WHAT = 'files for the client';

/** Statements as files of a directory of ours; it goes with them. */
export interface StatementFiles extends AsyncDisposable {
  /** Undefined: there are none. */
  directory: string | undefined;
}

/**
 * Reads all files of a tree and writes what is said of them into a directory, which is to lie on top of the tree: so
 * they come in the order of names, as clients want it. What a daemon that dies leaves is below `temporary`.
 */
export async function placeStatements(
  deps: ExportDeps,
  tree: TarredTree,
  { attestations, signal }: { attestations: readonly Attestation[]; signal: AbortSignal },
): Promise<StatementFiles> {
  if (attestations.length === 0) {
    return { directory: undefined, [Symbol.asyncDispose]: () => Promise.resolve() };
  }
  const subjects = await subjectsOf(treesTar(deps, [{ ...tree, folder: undefined }]), signal);
  const statements = statementsOf(attestations, subjects, { isIndented: true });
  const names = statements.map(({ fileName }) => fileName);
  const twice = names.find((name, position) => names.indexOf(name) !== position);
  if (twice !== undefined) {
    throw invalidArgument(`two attestations have the file name ${twice}`);
  }
  const directory = join(deps.temporary, `build-statements-${randomBytes(8).toString('hex')}`);
  const remove = (): Promise<void> => deps.archives.remove(directory);
  try {
    await mkdir(directory, { mode: 0o755 });
    for (const { fileName, bytes } of statements) {
      failpoint('build.export.statement.file');
      await writeFile(join(directory, fileName), bytes, { mode: 0o600, flag: 'wx' });
    }
  } catch (error) {
    await remove();
    throw error;
  }
  return { directory, [Symbol.asyncDispose]: remove };
}

/** Every regular file of a tar, with what it is. */
async function subjectsOf(tar: AsyncIterable<Buffer>, signal: AbortSignal): Promise<Subject[]> {
  const sink = new HashedFiles();
  const parser = new TarParser(sink, WHAT);
  for await (const piece of tar) {
    signal.throwIfAborted();
    parser.push(piece);
  }
  parser.end();
  return [...sink.digests].map(([name, digest]) => ({
    name: Buffer.from(name, 'latin1').toString('utf8'),
    digest: digestSet(digest),
  }));
}

/** Regular files of a tar, by their names. */
export class HashedFiles implements TarSink {
  readonly digests = new Map<string, string>();
  #open: { name: string; hash: Hash } | undefined;

  member({ name, type, linkName }: TarMember): void {
    if (this.digests.size >= limits.attestedFilesMax) {
      throw new EngineError(
        'resource_exhausted',
        `an attestation of more than ${limits.attestedFilesMax} files (attest:)`,
      );
    }
    if (type === 'file') {
      this.#open = { name: normalizeName(name, WHAT), hash: createHash('sha256') };
    } else if (type === 'link') {
      // A further name of a file is one itself.
      this.digests.set(normalizeName(name, WHAT), this.digests.get(normalizeName(linkName, WHAT)) ?? '');
    }
  }

  raw(): void {
    // Headers are no content.
  }

  data(bytes: Buffer): void {
    this.#open?.hash.update(bytes);
  }

  memberEnd(): void {
    if (this.#open !== undefined) {
      this.digests.set(this.#open.name, `sha256:${this.#open.hash.digest('hex')}`);
      this.#open = undefined;
    }
  }
}
