import type { Clock } from '../../daemon/base/clock.ts';
import { pause } from '../../daemon/base/concurrency/pause.ts';
import { errorText } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import { compactionTarget, keptSamples, type RevisionSample } from '../store/upkeep.ts';
import type { LeaderLoop, Leading } from './ports.ts';

const SAMPLE_MS = 60_000;

interface Deps {
  clock: Clock;
  logger: Logger;
  /** Whether the store takes no writes for want of room: then nothing of what was is kept. */
  isFull(): Promise<boolean>;
}

/**
 * Lets the store forget what it was: the leader alone, as all managers share it. A manager that was away for longer
 * than what is kept lists everything anew.
 */
export class Compaction implements LeaderLoop {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  start(leading: Leading): AsyncDisposable {
    const ended = new AbortController();
    const loop = this.#run(leading, ended.signal);
    return {
      [Symbol.asyncDispose]: async () => {
        ended.abort();
        await loop;
      },
    };
  }

  /** Never rejects. */
  async #run({ cluster }: Leading, signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#deps;
    let samples: readonly RevisionSample[] = [];
    let compactedTo = 0;
    while (!signal.aborted) {
      const now = { atMs: clock.monotonicMs(), revision: cluster.revision };
      samples = keptSamples([...samples, now], now.atMs);
      try {
        const target = (await this.#deps.isFull())
          ? now.revision
          : compactionTarget(samples, { ...now, slowest: now.revision, compactedTo });
        if (target !== undefined && target > compactedTo) {
          failpoint('swarm.store.compact');
          await cluster.store.compact(target);
          compactedTo = target;
          logger.debug({ revision: target }, 'the swarm forgets its store of before');
        }
      } catch (error) {
        logger.warn({ error: errorText(error) }, 'the store of the swarm could not be compacted');
      }
      await pause(clock, SAMPLE_MS, signal);
    }
  }
}
