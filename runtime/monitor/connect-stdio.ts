import { setTimeout as sleep } from 'node:timers/promises';
import { conflict, errnoOf, errorText, internal } from '../../daemon/base/errors.ts';
import type { Poller } from '../../daemon/base/kernel/poller.ts';
import { connectSeqpacket } from '../../daemon/base/kernel/seqpacket.ts';
import { ConmonStdio } from './stdio-channel.ts';

/** Attempts to get a place in conmon's backlog of ten, and the pause between them. */
const CONNECT_ATTEMPTS = 50;
const CONNECT_PAUSE_MS = 2;

/** Connects to conmon's attach socket at `path`. Throws EngineError conflict when its process has ended. */
export async function connectStdio(
  path: string,
  poller: Poller,
  options: { acceptsInput: boolean; lingers: boolean; isProcessAlive(): boolean },
): Promise<ConmonStdio> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return new ConmonStdio({ fd: connectSeqpacket(path), poller, ...options });
    } catch (error) {
      const code = errnoOf(error);
      if (code === 'ENOENT' || code === 'ECONNREFUSED') {
        throw conflict('cannot attach to a container that is not running', { cause: error });
      }
      if (code !== 'EAGAIN' || attempt === CONNECT_ATTEMPTS) {
        throw internal(`attach: ${errorText(error)}`, { cause: error });
      }
      await sleep(CONNECT_PAUSE_MS);
    }
  }
}
