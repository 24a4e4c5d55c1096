import { closeSync } from 'node:fs';
import { EngineError, internal } from '../../../daemon/base/errors.ts';
import { freeBytes, writeAll } from '../../../daemon/base/kernel/files/files.ts';
import { openRoot } from '../../../daemon/base/kernel/files/safepath.ts';
import { DiskReserve } from '../../disk-reserve.ts';
import type { TarMember } from '../../tar/parser.ts';
import type { ApplyControl } from '../apply-request.ts';
import { LayerTree } from '../tree.ts';
import type { FileRuns } from './file-runs.ts';
import { SourceWindow } from './source-window.ts';

/** Where files of a layer are made, and what of. */
export interface FilesToMake {
  /** The layer's files; directories are there. */
  diff: string;
  /** Has the contents. */
  fd: number;
  runs: FileRuns;
  /** Begins error messages. */
  what: string;
}

/**
 * Makes files and symbolic links until all runs are taken, beside other threads that do the same. Answers what was
 * lost: extended attributes that the disk does not know. Throws `canceled`, and what the disk says.
 */
export function makeFiles({ diff, fd, runs, what }: FilesToMake, control: ApplyControl): string[] {
  using root = openRoot(diff);
  using tree = new LayerTree(diff);
  const reserve = new DiskReserve(() => freeBytes(root.fd), `${what}: no space left on device`);
  const source = new SourceWindow(fd, what);
  let written = 0;
  const wrote = (bytes: number): void => {
    written += bytes;
    reserve.check(written);
  };
  for (let run = runs.take(); run !== undefined; run = runs.take()) {
    reserve.look();
    for (const member of run) {
      refuseCanceled(control, what);
      makeFile(tree, member, { content: source.read(member.offset, member.size), wrote });
    }
  }
  if (tree.replaced) {
    throw internal(`${what}: two names are one file`);
  }
  return tree.warnings;
}

/** Throws `canceled` when nobody waits any more. */
export function refuseCanceled(control: Pick<ApplyControl, 'isCanceled'>, what: string): void {
  if (control.isCanceled()) {
    throw new EngineError('canceled', `${what}: canceled`);
  }
}

function makeFile(
  tree: LayerTree,
  member: TarMember,
  { content, wrote }: { content: Iterable<Buffer>; wrote: (bytes: number) => void },
): void {
  const { name } = member;
  if (member.type === 'symlink') {
    tree.symlink(name, member.linkName, member);
    return;
  }
  const fd = tree.createFile(name, member.mode);
  try {
    for (const chunk of content) {
      writeAll(fd, chunk);
      wrote(chunk.length);
    }
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  tree.finishFile(fd, name, member);
}
