import { EngineError, errnoOf, errorText } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { freeBytes } from '../../daemon/base/kernel/files/files.ts';
import { DiskReserve } from '../disk-reserve.ts';
import { readRange } from '../layers/source.ts';
import { showName } from '../tar/names.ts';
import { TarParser, type TarMember, type TarSink } from '../tar/parser.ts';
import { KeptKindError, LiveTree, type LiveTreeRequest } from './live-tree.ts';

export interface ExtractRequest extends LiveTreeRequest {
  /** An uncompressed tar in an open file. */
  tar: { fd: number; size: number };
  /** Begins error messages. */
  what: string;
}

/** Errors of the disk, not of the tar: they keep their meaning on the way to the client. */
const DISK_ERRORS: Readonly<Record<string, string>> = {
  ENOSPC: 'no space left on device',
  EDQUOT: 'disk quota exceeded',
};
const SPACE_CHECK_MEMBERS = 1000;

/**
 * Unpacks a tar into a tree that others may write to meanwhile. What came before an error stays, as with any tar
 * program; the file in which it happened does not. Synchronous, for a worker.
 * Throws EngineError: invalid_argument when the tar is at fault, forbidden where nothing may be written,
 * resource_exhausted when the disk is about to fill, canceled.
 */
export function extract(request: ExtractRequest, isCanceled: () => boolean): void {
  const { tar, view, what } = request;
  using tree = new LiveTree(request);
  const sink = new Extractor(tree, what);
  const parser = new TarParser(sink, what);
  const reserve = new DiskReserve(() => freeBytes(view.root), `${what}: no space left on device`);
  let checkedMembers = 0;
  try {
    for (const chunk of readRange({ ...tar, offset: 0 }, what)) {
      if (isCanceled()) {
        throw new EngineError('canceled', `${what}: canceled`);
      }
      reserve.check(parser.position);
      if (sink.members >= checkedMembers + SPACE_CHECK_MEMBERS) {
        reserve.look();
        checkedMembers = sink.members;
      }
      parser.push(chunk);
    }
    if (tar.size > 0) {
      parser.end();
    }
  } catch (error) {
    sink.abandon();
    throw error;
  }
  failpoint('archives.extract.times');
  tree.finish();
}

/** Makes what it is told of; errors name the member. */
export class Extractor implements TarSink {
  readonly #tree: LiveTree;
  readonly #what: string;
  #file: { finish(): void; write(bytes: Buffer): void; abandon(): void; member: TarMember } | undefined;
  members = 0;

  constructor(tree: LiveTree, what: string) {
    this.#tree = tree;
    this.#what = what;
  }

  raw(): void {
    // Headers and padding say nothing more.
  }

  member(member: TarMember): void {
    this.members += 1;
    failpoint('archives.extract.member');
    this.#named(member, () => {
      const file = this.#tree.apply(member);
      this.#file = file && { ...file, member };
    });
  }

  data(bytes: Buffer): void {
    const file = this.#file;
    if (file !== undefined) {
      this.#named(file.member, () => file.write(bytes));
    }
  }

  memberEnd(): void {
    const file = this.#file;
    if (file !== undefined) {
      this.#named(file.member, () => file.finish());
      this.#file = undefined;
    }
  }

  /** Removes the file that was being written. */
  abandon(): void {
    this.#file?.abandon();
    this.#file = undefined;
  }

  #named(member: TarMember, step: () => void): void {
    try {
      step();
    } catch (error) {
      const code = errnoOf(error) ?? '';
      if (error instanceof KeptKindError) {
        throw error;
      }
      if (error instanceof EngineError) {
        throw new EngineError(error.code, `${this.#what}: ${error.message}`, { cause: error });
      }
      const where = `${this.#what}: entry ${showName(member.name)}`;
      const full = DISK_ERRORS[code];
      if (full !== undefined) {
        throw new EngineError('resource_exhausted', `${where}: ${full}`, { cause: error });
      }
      if (code === 'EROFS') {
        throw new EngineError('forbidden', `${where}: read-only file system`, { cause: error });
      }
      if (code === '') {
        throw error;
      }
      const message = code === 'EBUSY' ? 'device or resource busy (it is a mount point)' : errorText(error);
      throw new EngineError('internal', `${where}: ${message}`, { cause: error, details: { errno: code } });
    }
  }
}
