import { availableParallelism } from 'node:os';
import type { Readable } from 'node:stream';
import { EngineError, InvariantError } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import { SharedControl } from '../layers/workers/worker-protocol.ts';
import { streamOf } from '../layers/workers/worker-stream.ts';
import { IdleThreads, ThreadPool } from '../layers/workers/worker-threads.ts';
import type { Change, ChangesRequest } from './changes.ts';
import type { PlaceRequest } from './place.ts';
import type { Selected, SelectRequest } from './select.ts';
import type { EraseRequest } from './remove/erase.ts';
import type { ExtractRequest } from './extract.ts';
import { Removals } from './remove/removals.ts';
import { removeSmallTree } from './remove/small-tree.ts';
import type { ArchiveJob, ArchiveResult, TarRequest } from './jobs.ts';

/**
 * Threads that walk containers' files: unpack what is copied in, write out what is copied out, compare, count, delete.
 * Reading has a thread pool of its own, because a slow client holds a thread as long as it likes.
 */
export class Archives implements AsyncDisposable {
  readonly #idle: IdleThreads;
  readonly #workers: ThreadPool;
  readonly #readers: ThreadPool;
  /** Trees are deleted behind the answers, by threads of their own: requests must not wait for them. */
  readonly #removers: ThreadPool;
  readonly removals = new Removals();

  /** `idle` may be shared with others, so that threads go from one kind of work to the next. */
  constructor(idle = new IdleThreads()) {
    this.#idle = idle;
    this.#workers = new ThreadPool(Math.max(1, availableParallelism()), idle);
    this.#readers = new ThreadPool(limits.archiveReadersMax, idle);
    this.#removers = new ThreadPool(limits.archiveRemoversMax, idle);
  }

  /** See extract.ts. A canceled signal stops it within one chunk. */
  async extract(request: ExtractRequest, signal?: AbortSignal): Promise<void> {
    await this.#run({ kind: 'extract', request }, { signal });
  }

  /** A tar of a place and what is below it. `done` is called when the descriptors of the request may be closed. */
  tar(request: TarRequest, done: () => void): Readable {
    const job: ArchiveJob = { kind: 'tar', request };
    return streamOf(this.#readers, (control) => ({ kind: 'archive', job, control }), done);
  }

  /** A tar of what changed, as an image layer has it, into an open file; answers its bytes, and how many changes. */
  async layer(
    request: ChangesRequest,
    fd: number,
    signal?: AbortSignal,
  ): Promise<{ bytes: number; changes: number }> {
    const result = await this.#run({ kind: 'layer', request, fd }, { signal });
    return result.kind === 'layer' ? result : wrong(result);
  }

  /** See place.ts. */
  async place(request: PlaceRequest, signal?: AbortSignal): Promise<void> {
    await this.#run({ kind: 'place', request }, { signal });
  }

  /** See select.ts. */
  async select(request: SelectRequest, signal?: AbortSignal): Promise<Selected[]> {
    const result = await this.#run({ kind: 'select', request }, { signal });
    return result.kind === 'selected' ? result.selected : wrong(result);
  }

  /** See remove/erase.ts. */
  async erase(request: EraseRequest, signal?: AbortSignal): Promise<number> {
    const result = await this.#run({ kind: 'erase', request }, { signal });
    return result.kind === 'erased' ? result.erased : wrong(result);
  }

  /** See changes.ts. */
  async changes(request: ChangesRequest): Promise<Change[]> {
    const result = await this.#run({ kind: 'changes', request });
    return result.kind === 'changes' ? result.changes : wrong(result);
  }

  /** Bytes below each directory; null = it is not there. */
  async sizes(directories: readonly string[]): Promise<(number | null)[]> {
    const result = await this.#run({ kind: 'sizes', directories });
    return result.kind === 'sizes' ? result.bytes : wrong(result);
  }

  /** Deletes a directory with all below it, even while a process writes to it; nothing there is no error. */
  async remove(path: string): Promise<void> {
    await this.removals.track(this.#remove(path));
  }

  /**
   * The same for one that no process can reach any more. Most containers leave a dozen files, for which no thread is
   * started; thousands would keep the event loop busy with as many callbacks.
   */
  async removeUnreachable(path: string): Promise<void> {
    const removal = async (): Promise<void> => {
      if (!(await removeSmallTree(path))) {
        await this.#remove(path);
      }
    };
    await this.removals.track(removal());
  }

  async #remove(path: string): Promise<void> {
    await this.#run({ kind: 'remove', path }, { pool: this.#removers });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const pools = [this.#workers, this.#readers, this.#removers];
    await Promise.all([...pools.map((pool) => pool.close()), this.#idle.close()]);
  }

  async #run(
    job: ArchiveJob,
    { signal, pool = this.#workers }: { signal?: AbortSignal | undefined; pool?: ThreadPool } = {},
  ): Promise<ArchiveResult> {
    const control = new SharedControl();
    const cancel = (): void => control.cancel();
    signal?.addEventListener('abort', cancel, { once: true });
    const thread = await pool.acquire();
    try {
      if (signal?.aborted === true) {
        throw new EngineError('canceled', `${job.kind}: canceled`);
      }
      const reply = await thread.run({ kind: 'archive', job, control: control.memory });
      return reply.kind === 'archived' ? reply.result : wrong(reply);
    } finally {
      signal?.removeEventListener('abort', cancel);
      pool.release(thread);
    }
  }
}

function wrong(answer: { kind: string }): never {
  throw new InvariantError(`an archive worker answered ${answer.kind}`);
}
