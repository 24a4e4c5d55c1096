import type { Duplex } from 'node:stream';
import { isHungUp } from '../../daemon/base/kernel/sockets/hang-up.ts';
import { limits } from '../../daemon/base/limits.ts';

/**
 * Cuts a hijacked connection whose client is gone. Without this a silent container would keep it open: there is nothing
 * to write, and a client that only reads on also ends its input. What the client had sent before is read first. Returns
 * how to stop.
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
