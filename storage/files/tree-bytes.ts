/** @path-hostile */
import { errnoOf, ifThere, isEngineError } from '../../daemon/base/errors.ts';
import { listNames, openPathAt, reopen } from '../../daemon/base/kernel/files/files.ts';
import { fileStatus } from '../../daemon/base/kernel/files/file-status.ts';
import { OpenFile, openRoot } from '../../daemon/base/kernel/files/safepath.ts';
import { DirectoryChain } from './directory-chain.ts';

/** Not there any more, or something else by now. */
const PASSED_OVER = new Set(['ENOENT', 'ENOTDIR', 'ELOOP']);

/**
 * Bytes of all files below a directory of ours, each counted once however many names it has; null when it is not
 * there. Links are not followed and other file systems not entered. Synchronous, for a worker.
 */
export function treeBytes(path: string): number | null {
  return (
    ifThere(() => {
      using root = openRoot(path);
      return new Counter(fileStatus(root.fd).device).count(root);
    }) ?? null
  );
}

class Counter {
  readonly #device: string;
  readonly #linked = new Set<string>();
  readonly #chain = new DirectoryChain<OpenFile>((fd) => new OpenFile(fd));
  /** Of the directories on the way, what is still to be looked at. */
  readonly #names: string[][] = [];
  #bytes = 0;

  constructor(device: string) {
    this.#device = device;
  }

  /** Not by recursion: its depth is not bounded. */
  count(root: OpenFile): number {
    using chain = this.#chain;
    chain.enter(root, { isBorrowed: true });
    this.#names.push(namesIn(root.fd));
    for (let names = this.#names.at(-1); names !== undefined; names = this.#names.at(-1)) {
      const name = names.pop();
      if (name !== undefined) {
        this.#entry(chain.last?.fd ?? root.fd, name);
      } else if (!this.#leave()) {
        break;
      }
    }
    return this.#bytes;
  }

  /** False when the place is lost, because a program moves directories about: the count so far is the answer. */
  #leave(): boolean {
    this.#names.pop();
    try {
      this.#chain.leave();
      return true;
    } catch (error) {
      if (isEngineError(error, 'conflict')) {
        return false;
      }
      throw error;
    }
  }

  #entry(parent: number, name: string): void {
    let entry: OpenFile | undefined;
    try {
      entry = new OpenFile(openPathAt(parent, name));
      const { isDirectory, device, links, identity, size } = fileStatus(entry.fd);
      if (isDirectory && device === this.#device) {
        this.#names.push(namesIn(entry.fd));
        this.#chain.enter(entry);
        return;
      }
      if (!isDirectory && !(links > 1 && this.#linked.has(identity))) {
        this.#bytes += size;
      }
      if (links > 1) {
        this.#linked.add(identity);
      }
    } catch (error) {
      if (!PASSED_OVER.has(errnoOf(error) ?? '')) {
        entry?.[Symbol.dispose]();
        throw error;
      }
    }
    entry?.[Symbol.dispose]();
  }
}

function namesIn(directory: number): string[] {
  using opened = reopen(directory, 'directory');
  return listNames(opened.fd);
}
