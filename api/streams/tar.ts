import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Logger } from '../../daemon/base/log.ts';
import type { Reply } from '../pipeline/reply.ts';

/** A tarball. If making it fails half-way the connection is cut: no client may take half an image for a whole one. */
export async function sendTar(reply: Reply, bytes: Readable, log: Logger): Promise<void> {
  const res = reply.begin('application/x-tar');
  try {
    await pipeline(bytes, res);
  } catch (error) {
    log.info({ err: error }, 'tar stream ended early');
  }
}
