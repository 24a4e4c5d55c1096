import { availableParallelism } from 'node:os';
import type { Readable } from 'node:stream';
import { InvariantError } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { AppliedLayer, ApplyRequest } from './apply.ts';
import { streamOf } from './worker-stream.ts';
import { SharedControl } from './worker-protocol.ts';
import { Lane } from './worker-threads.ts';

/**
 * Threads that unpack layers and write them out again. Started when there is work, ended when there has been none
 * for a while. Unpacking uses as many as there are cores; writing out has threads of its own, because a slow client
 * holds one as long as it likes.
 */
export class LayerWorkers implements AsyncDisposable {
  readonly #appliers = new Lane(Math.max(1, availableParallelism()));
  readonly #readers = new Lane(limits.layerReadersMax);

  /**
   * Unpacks a layer (apply.ts); waits for a free thread. `onProgress` gets a function that tells how many bytes of the
   * blob were read. A canceled signal stops it within one chunk; then it rejects with `canceled`.
   */
  async apply(
    request: ApplyRequest,
    options: { signal?: AbortSignal; onStart?: (bytesRead: () => number) => void } = {},
  ): Promise<AppliedLayer> {
    const control = new SharedControl();
    const cancel = (): void => control.cancel();
    options.signal?.addEventListener('abort', cancel, { once: true });
    const thread = await this.#appliers.acquire();
    try {
      if (options.signal?.aborted === true) {
        cancel();
      }
      options.onStart?.(() => control.bytesRead);
      const reply = await thread.run({ kind: 'apply', request, control: control.memory });
      if (reply.kind !== 'applied') {
        throw new InvariantError(`layer worker answered ${reply.kind} to apply`);
      }
      return reply.layer;
    } finally {
      options.signal?.removeEventListener('abort', cancel);
      this.#appliers.release(thread);
    }
  }

  /** The layer's tar, written again from its files and checked at the end; destroying the stream frees the thread. */
  replay(directory: string, diffId: string): Readable {
    return streamOf(this.#readers, (control) => ({ kind: 'replay', directory, diffId, control }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#appliers.close(), this.#readers.close()]);
  }
}
