import { Readable } from 'node:stream';
import { internal } from '../../../daemon/base/errors.ts';
import { SharedControl, type LayerJob } from './worker-protocol.ts';
import type { ThreadPool } from './worker-threads.ts';

/** Chunks that may wait for a slow reader. */
const CHUNKS_AHEAD = 4;

/**
 * What a job emits, as a stream: the job waits while the reader is behind, and destroying the stream ends it and frees
 * the thread. `done` is called once, when the thread touches nothing of the job any more.
 */
export function streamOf(
  pool: ThreadPool,
  makeJob: (control: SharedArrayBuffer) => LayerJob,
  done: () => void = () => undefined,
): Readable {
  const control = new SharedControl();
  const state = { outstanding: 0 };
  const stream: Readable = new Readable({
    highWaterMark: 1024 * 1024,
    read: () => {
      // One grant per chunk taken: what is granted and not yet read never exceeds CHUNKS_AHEAD.
      if (state.outstanding < CHUNKS_AHEAD) {
        control.grant(CHUNKS_AHEAD - state.outstanding);
        state.outstanding = CHUNKS_AHEAD;
      }
    },
    destroy: (error, finished) => {
      control.cancel();
      finished(error);
    },
  });
  const pump = async (): Promise<void> => {
    const thread = await pool.acquire();
    try {
      await thread.run(makeJob(control.memory), (chunk) => {
        state.outstanding -= 1;
        stream.push(chunk);
      });
      stream.push(null);
    } finally {
      pool.release(thread);
    }
  };
  pump()
    .catch((error: unknown) => {
      stream.destroy(error instanceof Error ? error : internal(String(error)));
    })
    .finally(done);
  return stream;
}
