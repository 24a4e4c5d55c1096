/** @path-hostile */
import { conflict, errnoOf, ifThere } from '../../../daemon/base/errors.ts';
import {
  isMountPointAt,
  listNames,
  openPathAt,
  removeDirectoryAt,
  reopen,
  unlinkAt,
} from '../../../daemon/base/kernel/files/files.ts';
import { fileStatus } from '../../../daemon/base/kernel/files/file-status.ts';
import { OpenFile } from '../../../daemon/base/kernel/files/safepath.ts';
import { showName } from '../../tar/names.ts';
import { DirectoryChain } from '../directory-chain.ts';

/** A directory that is being emptied. */
interface Level {
  name: string;
  /** What is left in it. */
  names: string[];
}

/**
 * Removes a name of a directory with everything below it, one descriptor after another and links never followed: a link
 * that takes a directory's place meanwhile is itself removed. Throws ENOENT when there is nothing, conflict for a mount
 * point there or below. Synchronous, for a worker.
 */
export function removeAt(parent: number, name: string): void {
  const directory = removeUnlessDirectory(parent, name);
  if (directory === undefined) {
    return;
  }
  using chain = new DirectoryChain<OpenFile>((fd) => new OpenFile(fd));
  chain.enter(directory);
  const levels: Level[] = [{ name, names: namesIn(directory.fd) }];
  // Not by recursion: its depth is not bounded.
  for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
    const here = chain.last?.fd ?? parent;
    const child = level.names.pop();
    if (child !== undefined) {
      const found = ifThere(() => removeUnlessDirectory(here, child));
      if (found !== undefined) {
        chain.enter(found);
        levels.push({ name: child, names: namesIn(found.fd) });
      }
      continue;
    }
    levels.pop();
    chain.leave();
    const above = chain.last?.fd;
    const { name: emptied } = level;
    if (above === undefined) {
      removeDirectoryAt(parent, emptied);
    } else {
      ifThere(() => removeDirectoryAt(above, emptied));
    }
  }
}

/** Answers the directory that has the name, if one has. */
function removeUnlessDirectory(parent: number, name: string): OpenFile | undefined {
  if (isMountPointAt(parent, name)) {
    throw conflict(`${showName(name)}: device or resource busy (something is mounted there)`);
  }
  try {
    unlinkAt(parent, name);
    return undefined;
  } catch (error) {
    if (errnoOf(error) !== 'EISDIR' && errnoOf(error) !== 'EPERM') {
      throw error;
    }
  }
  const named = new OpenFile(openPathAt(parent, name));
  if (fileStatus(named.fd).isDirectory) {
    return named;
  }
  named[Symbol.dispose]();
  // It cannot be unlinked and is none: this says so.
  removeDirectoryAt(parent, name);
  return undefined;
}

function namesIn(directory: number): string[] {
  using opened = reopen(directory, 'directory');
  return listNames(opened.fd);
}
