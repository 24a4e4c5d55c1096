import type { BuildSession, FilesRequest } from '../../../api/types/build/session.ts';
import type { Clock } from '../../base/clock.ts';
import { errorText } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/logger.ts';
import type { ContextSpool, ContextSpools } from '../ports.ts';
import { receiveFiles, type SentFiles } from './receive-files.ts';

/** Files of a client that a build uses; disposing gives them back. */
export interface ReceivedFiles extends AsyncDisposable {
  files: SentFiles;
  spool: ContextSpool;
}

export interface ReceiveRequest extends FilesRequest {
  /** What is received is kept for the next build with this key; `''` = it is not. */
  key: string;
  came: (bytes: number) => void;
}

export interface ContextsDeps {
  spools: ContextSpools;
  clock: Clock;
  log: Logger;
}

interface Kept {
  spool: ContextSpool;
  files: SentFiles;
  lastUsedMs: number;
}

/** What of a spool must be in use, unless it is small: what a context leaves behind of its past takes room. */
const LIVE_SHARE = 0.5;
const SMALL_BYTES = 64 * 1024 * 1024;

/**
 * Contexts that clients sent, each in one file without a name, kept for a while: the next build of the same directory
 * gets only what has changed. They go with the daemon.
 */
export class Contexts {
  readonly #deps: ContextsDeps;
  /** Those that no build uses. */
  readonly #kept = new Map<string, Kept>();

  constructor(deps: ContextsDeps) {
    this.#deps = deps;
  }

  /** Receives a directory. Throws with nothing kept. */
  async receive(session: BuildSession, request: ReceiveRequest, signal: AbortSignal): Promise<ReceivedFiles> {
    const { key, came } = request;
    const before = await this.#take(key);
    const spool = before?.spool ?? (await this.#deps.spools.placed('build context'));
    try {
      await using transfer = session.files(request, signal);
      const files = await receiveFiles(transfer, spool, { before: before?.files ?? new Map(), came });
      return { files, spool, [Symbol.asyncDispose]: () => this.#giveBack(key, { spool, files }) };
    } catch (error) {
      await spool[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Forgets what no build uses; answers how many bytes that were. */
  async prune(): Promise<number> {
    let bytes = 0;
    for (const [key, { spool }] of this.#kept) {
      bytes += spool.size;
      await this.#drop(key);
    }
    return bytes;
  }

  /** For one build alone: another one with the same key meanwhile begins anew. */
  async #take(key: string): Promise<Kept | undefined> {
    const kept = this.#kept.get(key);
    if (kept === undefined) {
      return undefined;
    }
    this.#kept.delete(key);
    const live = [...kept.files.values()].reduce((sum, { entry }) => sum + entry.member.size, 0);
    if (kept.spool.size > SMALL_BYTES && live < kept.spool.size * LIVE_SHARE) {
      await kept.spool[Symbol.asyncDispose]();
      return undefined;
    }
    return kept;
  }

  async #giveBack(key: string, received: { spool: ContextSpool; files: SentFiles }): Promise<void> {
    if (key === '' || this.#kept.has(key)) {
      await received.spool[Symbol.asyncDispose]();
      return;
    }
    const lastUsedMs = this.#deps.clock.monotonicMs();
    this.#kept.set(key, { ...received, lastUsedMs });
    await this.#bound();
    this.#deps.clock.setTimeout(() => {
      if (this.#kept.get(key)?.lastUsedMs === lastUsedMs) {
        void this.#drop(key).catch((error: unknown) => {
          this.#deps.log.error({ reason: errorText(error) }, 'an old build context was not closed');
        });
      }
    }, limits.contextKeptMs);
  }

  /** The oldest go first. */
  async #bound(): Promise<void> {
    const bytes = (): number => [...this.#kept.values()].reduce((sum, { spool }) => sum + spool.size, 0);
    while (this.#kept.size > limits.contextsKeptMax || bytes() > limits.contextsKeptBytesMax) {
      const [oldest] = this.#kept.keys();
      if (oldest === undefined) {
        return;
      }
      await this.#drop(oldest);
    }
  }

  async #drop(key: string): Promise<void> {
    const kept = this.#kept.get(key);
    this.#kept.delete(key);
    await kept?.spool[Symbol.asyncDispose]();
  }
}
