/** @path-hostile */
import { errnoOf } from '../../daemon/base/errors.ts';
import { fileStatus, listNames, openPathAt, reopen } from '../../daemon/base/kernel/files.ts';
import { OpenFile, openRoot } from '../../daemon/base/kernel/safepath.ts';
import { limits } from '../../daemon/base/limits.ts';

/** Not there any more, or nested deeper than anybody counts. */
const PASSED_OVER = new Set(['ENOENT', 'ENOTDIR', 'ELOOP']);

/**
 * Bytes of all files below a directory of ours, each counted once however many names it has; null when it is not
 * there. Links are not followed and other file systems not entered. Synchronous, for a worker.
 */
export function treeBytes(path: string): number | null {
  try {
    using root = openRoot(path);
    return new Counter(fileStatus(root.fd).device).directory(root.fd, 1);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') {
      return null;
    }
    throw error;
  }
}

class Counter {
  readonly #device: string;
  readonly #linked = new Set<string>();

  constructor(device: string) {
    this.#device = device;
  }

  directory(fd: number, depth: number): number {
    using directory = reopen(fd, 'directory');
    let bytes = 0;
    for (const name of listNames(directory.fd)) {
      bytes += this.#entry(directory.fd, name, depth);
    }
    return bytes;
  }

  #entry(parent: number, name: string, depth: number): number {
    try {
      using entry = new OpenFile(openPathAt(parent, name));
      const { isDirectory, device, links, identity, size } = fileStatus(entry.fd);
      if (isDirectory) {
        return device === this.#device && depth < limits.archiveDepthMax
          ? this.directory(entry.fd, depth + 1)
          : 0;
      }
      if (links > 1 && this.#linked.has(identity)) {
        return 0;
      }
      if (links > 1) {
        this.#linked.add(identity);
      }
      return size;
    } catch (error) {
      if (PASSED_OVER.has(errnoOf(error) ?? '')) {
        return 0;
      }
      throw error;
    }
  }
}
