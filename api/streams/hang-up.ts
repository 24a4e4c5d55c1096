import type { Duplex } from 'node:stream';
import { isHungUp } from '../../daemon/base/kernel/hang-up.ts';
import { limits } from '../../daemon/base/limits.ts';

/**
 * Cuts a hijacked connection whose client is gone. Nothing else would notice while its container is silent: there is
 * nothing to write, and the end of the client's input is also what a client sends that reads on. What it had sent
 * before it went is read first. Answers how to stop.
 */
export function watchForHangUp(connection: Duplex): () => void {
  const timer = setInterval(() => {
    const fd = descriptorOf(connection);
    if (fd !== undefined && connection.readableEnded && isHungUp(fd)) {
      connection.destroy();
    }
  }, limits.hangUpCheckMs);
  timer.unref();
  return () => clearInterval(timer);
}

/** Of a socket that the kernel has; others (TLS, websockets) notice by themselves or by their protocol. */
function descriptorOf(connection: Duplex): number | undefined {
  if (connection.destroyed || !('_handle' in connection)) {
    return undefined;
  }
  const handle = connection._handle;
  const isOpen = typeof handle === 'object' && handle !== null && 'fd' in handle;
  return isOpen && typeof handle.fd === 'number' && handle.fd >= 0 ? handle.fd : undefined;
}
