import type { BuildSession, FilesRequest } from '../../../api/types/build/session.ts';
import type { Clock } from '../../base/clock.ts';
import { errorText } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/logger.ts';
import type { BuildLayers, ContextSpool, ContextSpools } from '../ports.ts';
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
  /** Layers will be made of them. */
  layers: Pick<BuildLayers, 'expectFiles'>;
  clock: Clock;
  log: Logger;
}

interface Kept {
  readonly key: string;
  readonly spool: ContextSpool;
  /** What came last. */
  files: SentFiles;
  lastUsedMs: number;
  /** Builds that read it. */
  users: number;
  /** A spool has one writer. */
  isReceiving: boolean;
}

/** What of a spool must be in use, unless it is small: what a context leaves behind of its past takes room. */
const LIVE_SHARE = 0.5;
const SMALL_BYTES = 64 * 1024 * 1024;

/**
 * Contexts that clients sent, each in one file without a name, kept for a while: the next build of the same directory,
 * and what else one build asks of it, gets only what has changed. They go with the daemon.
 */
export class Contexts {
  readonly #deps: ContextsDeps;
  readonly #kept = new Map<string, Kept>();

  constructor(deps: ContextsDeps) {
    this.#deps = deps;
  }

  /** Receives a directory. Throws with nothing kept. */
  async receive(session: BuildSession, request: ReceiveRequest, signal: AbortSignal): Promise<ReceivedFiles> {
    const { key, came } = request;
    const kept = await this.#take(key);
    const { spool } = kept;
    try {
      await using transfer = session.files(request, signal);
      const asked = (count: number): void => this.#deps.layers.expectFiles(count);
      const files = await receiveFiles(transfer, spool, { before: kept.files, came, asked });
      kept.files = files;
      kept.isReceiving = false;
      return { files, spool, [Symbol.asyncDispose]: () => this.#giveBack(kept) };
    } catch (error) {
      this.#forget(kept);
      await this.#giveBack(kept);
      throw error;
    }
  }

  /** Forgets what no build uses; answers how many bytes that were. */
  async prune(): Promise<number> {
    let bytes = 0;
    for (const kept of this.#idle()) {
      bytes += kept.spool.size;
      await this.#drop(kept);
    }
    return bytes;
  }

  /** To receive into: what lies there stays as it is. Another one while that goes on begins anew. */
  async #take(key: string): Promise<Kept> {
    const before = key === '' ? undefined : this.#kept.get(key);
    if (before !== undefined && !before.isReceiving && !isMostlyPast(before)) {
      before.users += 1;
      before.isReceiving = true;
      return before;
    }
    const spool = await this.#deps.spools.placed('build context');
    const kept = { key, spool, files: new Map(), lastUsedMs: 0, users: 1, isReceiving: true };
    const there = this.#kept.get(key);
    if (key !== '' && there?.isReceiving !== true) {
      this.#kept.set(key, kept);
      if (there?.users === 0) {
        await there.spool[Symbol.asyncDispose]();
      }
    }
    return kept;
  }

  async #giveBack(kept: Kept): Promise<void> {
    kept.users -= 1;
    if (kept.users > 0) {
      return;
    }
    const { key } = kept;
    if (this.#kept.get(key) !== kept) {
      await kept.spool[Symbol.asyncDispose]();
      return;
    }
    // The one that was used last is the last of the map.
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    const lastUsedMs = this.#deps.clock.monotonicMs();
    kept.lastUsedMs = lastUsedMs;
    await this.#bound();
    this.#deps.clock.setTimeout(() => {
      if (this.#kept.get(key) === kept && kept.users === 0 && kept.lastUsedMs === lastUsedMs) {
        void this.#drop(kept).catch((error: unknown) => {
          this.#deps.log.error({ reason: errorText(error) }, 'an old build context was not closed');
        });
      }
    }, limits.contextKeptMs);
  }

  /** The oldest go first. */
  async #bound(): Promise<void> {
    const idle = this.#idle();
    let bytes = idle.reduce((sum, { spool }) => sum + spool.size, 0);
    let count = idle.length;
    for (const kept of idle) {
      if (count <= limits.contextsKeptMax && bytes <= limits.contextsKeptBytesMax) {
        return;
      }
      count -= 1;
      bytes -= kept.spool.size;
      await this.#drop(kept);
    }
  }

  /** Those that no build uses, the oldest first. */
  #idle(): Kept[] {
    return [...this.#kept.values()].filter(({ users }) => users === 0);
  }

  /** Nobody takes it any more. */
  #forget(kept: Kept): void {
    if (this.#kept.get(kept.key) === kept) {
      this.#kept.delete(kept.key);
    }
  }

  /** One that nobody uses. */
  async #drop(kept: Kept): Promise<void> {
    this.#forget(kept);
    await kept.spool[Symbol.asyncDispose]();
  }
}

/** Most of what lies in it is of contexts that are over. */
function isMostlyPast({ spool, files }: Kept): boolean {
  const live = [...files.values()].reduce((sum, { entry }) => sum + entry.member.size, 0);
  return spool.size > SMALL_BYTES && live < spool.size * LIVE_SHARE;
}
