import type { RegistryBlob } from '../../../../api/types/hub/registry.ts';
import type { KeyedMutex } from '../../../base/concurrency/mutex.ts';
import { errorText, internal, isEngineError } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import type { Logger } from '../../../base/logger.ts';
import type { BlobFiles, IncomingFile } from '../files/port.ts';
import { receive } from './arrivals.ts';
import type { BlobPeers } from './port.ts';

type GivingPeers = Pick<BlobPeers, 'has' | 'read' | 'judge'>;

interface Deps {
  files: BlobFiles;
  locks: KeyedMutex;
  log: Logger;
  /** Undefined = there are none. */
  peers: GivingPeers | undefined;
}

interface Wanted {
  digest: string;
  /** As the record says. */
  size: number;
}

interface Fetch {
  incoming: IncomingFile;
  /** Rejects with what went wrong. */
  done: Promise<void>;
  /** The fetch itself is one of them. */
  users: number;
}

/**
 * Blobs that the records tell of and this host does not hold: they come from another host that does, and are kept. All
 * who want one at the time share its way here, and read it while it comes.
 */
export class Fetches implements Disposable {
  readonly #deps: Deps;
  readonly #running = new Map<string, Promise<Fetch>>();
  readonly #stop = new AbortController();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Bytes, where this host or another one holds it. */
  async size({ digest, size }: Wanted): Promise<number | undefined> {
    const { files, peers } = this.#deps;
    const own = await files.size(digest);
    const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(limits.hubPeerMs)]);
    return own ?? ((await peers?.has(digest, signal)) === true ? size : undefined);
  }

  async open(wanted: Wanted): Promise<RegistryBlob | undefined> {
    const own = await this.#deps.files.open(wanted.digest);
    return own ?? (await this.#fetched(wanted));
  }

  /** Whether this host holds it, or has got it from another one. */
  async hold(wanted: Wanted): Promise<boolean> {
    const { files, peers } = this.#deps;
    if ((await files.size(wanted.digest)) !== undefined) {
      return true;
    }
    return peers !== undefined && (await this.#brought(wanted, peers));
  }

  /** For what fits into memory. */
  async read(wanted: Wanted): Promise<Buffer | undefined> {
    const { files, peers } = this.#deps;
    const own = await files.read(wanted.digest);
    if (own !== undefined || peers === undefined || !(await this.#brought(wanted, peers))) {
      return own;
    }
    return await files.read(wanted.digest);
  }

  [Symbol.dispose](): void {
    this.#stop.abort(internal('the hub ends'));
  }

  async #fetched(wanted: Wanted): Promise<RegistryBlob | undefined> {
    const { peers } = this.#deps;
    if (peers === undefined || !(await peers.has(wanted.digest, this.#stop.signal))) {
      return undefined;
    }
    const fetch = await this.#join(wanted, peers);
    fetch.users += 1;
    let isOpen = true;
    const close = async (): Promise<void> => {
      if (isOpen) {
        isOpen = false;
        await leave(fetch);
      }
    };
    return {
      size: wanted.size,
      stream: (start, end) => fetch.incoming.stream(start, end),
      [Symbol.asyncDispose]: close,
    };
  }

  /** False = it did not come. */
  async #brought(wanted: Wanted, peers: GivingPeers): Promise<boolean> {
    try {
      const { done } = await this.#join(wanted, peers);
      await done;
      return true;
    } catch (error) {
      const { digest } = wanted;
      this.#deps.log.warn({ digest, reason: errorText(error) }, 'a blob did not come from another manager');
      return false;
    }
  }

  #join(wanted: Wanted, peers: GivingPeers): Promise<Fetch> {
    const { digest } = wanted;
    const running = this.#running.get(digest) ?? this.#start(wanted, peers);
    this.#running.set(digest, running);
    return running;
  }

  async #start(wanted: Wanted, peers: GivingPeers): Promise<Fetch> {
    const { digest } = wanted;
    try {
      const incoming = await this.#deps.files.createIncoming(wanted);
      const pieces = peers.read(wanted, this.#stop.signal);
      const done = receive(incoming, digest, { pieces, locks: this.#deps.locks }).then(
        () => peers.judge(digest, true),
        (error: unknown) => {
          peers.judge(digest, !isEngineError(error, 'unavailable'));
          throw error;
        },
      );
      const fetch = { incoming, done, users: 1 };
      void this.#settle(fetch, digest).catch((error: unknown) => {
        this.#deps.log.error({ err: error }, 'a blob that came from another manager was not closed');
      });
      return fetch;
    } catch (error) {
      this.#running.delete(digest);
      throw error;
    }
  }

  async #settle(fetch: Fetch, digest: string): Promise<void> {
    try {
      await fetch.done;
    } catch (error) {
      this.#deps.log.warn({ digest, reason: errorText(error) }, 'a blob did not come from another manager');
    }
    this.#running.delete(digest);
    await leave(fetch);
  }
}

async function leave(fetch: Fetch): Promise<void> {
  fetch.users -= 1;
  if (fetch.users === 0) {
    await fetch.incoming[Symbol.asyncDispose]();
  }
}
