import { closeSync, openSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { internal } from '../../../daemon/base/errors.ts';
import { writeAll } from '../../../daemon/base/kernel/files/files.ts';
import { limits } from '../../../daemon/base/limits.ts';
import { readPlaced, type PlaceRequest } from '../../files/place.ts';
import type { TarMember, TarSink } from '../../tar/parser.ts';
import type { ApplyControl } from '../apply-request.ts';
import { refuseCanceled } from './make-files.ts';
import type { ComposedFiles } from './plan.ts';

/** Files whose contents are in one file until it is disposed of. */
export interface GatheredFiles extends Disposable {
  files: ComposedFiles;
}

/**
 * Files of a tree with their contents in one file without a name, below `directory`; others are that already. Throws
 * for more than `limits.composedTreeBytesMax`, or `composedTreeFilesMax`: they are written once more for it.
 */
export function gatherFiles(
  { directory, files }: { directory: string; files: PlaceRequest },
  control: ApplyControl,
): GatheredFiles {
  const { source, what } = files;
  if (source.kind === 'members') {
    return { files: { ...files, source }, [Symbol.dispose]: () => undefined };
  }
  const path = join(directory, 'contents');
  const fd = openSync(path, 'wx+', 0o600);
  try {
    unlinkSync(path);
    const gathered = new Gathering(fd);
    readPlaced({ ...files, source }, gathered, () => refuseCanceled(control, what));
    const { members } = gathered;
    return {
      files: { ...files, source: { kind: 'members', fd, members } },
      [Symbol.dispose]: () => closeSync(fd),
    };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

class Gathering implements TarSink {
  readonly #fd: number;
  readonly members: TarMember[] = [];
  #bytes = 0;

  constructor(fd: number) {
    this.#fd = fd;
  }

  raw(): void {
    // Members say what they are.
  }

  member(member: TarMember): void {
    this.members.push({ ...member, offset: this.#bytes });
    if (this.members.length > limits.composedTreeFilesMax) {
      throw internal(`more than ${limits.composedTreeFilesMax} files of a tree`);
    }
  }

  data(bytes: Buffer): void {
    this.#bytes += bytes.length;
    if (this.#bytes > limits.composedTreeBytesMax) {
      throw internal(`more than ${limits.composedTreeBytesMax} bytes of a tree`);
    }
    writeAll(this.#fd, bytes);
  }

  memberEnd(): void {
    // The next content follows.
  }
}
