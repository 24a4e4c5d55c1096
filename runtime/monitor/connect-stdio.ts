import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../daemon/base/clock.ts';
import { conflict, errnoOf, errorText, internal } from '../../daemon/base/errors.ts';
import type { Poller } from '../../daemon/base/kernel/poller.ts';
import { connectSeqpacket } from '../../daemon/base/kernel/seqpacket.ts';
import { limits } from '../../daemon/base/limits.ts';
import { ConmonStdio } from './stdio-channel.ts';

/** Pause between attempts to get a place in conmon's backlog of ten. */
const CONNECT_PAUSE_MS = 2;

/**
 * Connects to conmon's attach socket at `path`, as soon as conmon takes clients. Throws EngineError conflict when its
 * process has ended.
 */
export async function connectStdio(
  path: string,
  poller: Poller,
  options: { acceptsInput: boolean; lingers: boolean; isProcessAlive(): boolean },
): Promise<ConmonStdio> {
  const deadline = systemClock.monotonicMs() + limits.attachTimeoutMs;
  for (;;) {
    try {
      return new ConmonStdio({ fd: connectSeqpacket(path), poller, ...options });
    } catch (error) {
      const code = errnoOf(error);
      if (code === 'ENOENT' || code === 'ECONNREFUSED') {
        throw conflict('cannot attach to a container that is not running', { cause: error });
      }
      if (code !== 'EAGAIN' || systemClock.monotonicMs() > deadline) {
        throw internal(`attach: ${errorText(error)}`, { cause: error });
      }
      await sleep(CONNECT_PAUSE_MS);
    }
  }
}
