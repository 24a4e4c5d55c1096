import { declare } from '../libc.ts';

const poll = declare('int poll(void *fds, unsigned long count, int timeoutMs)');
/** poll.h; told whether asked for or not. */
const POLLERR = 0x08;
const POLLHUP = 0x10;
/** struct pollfd: int fd, short events, short revents. */
const POLLFD_BYTES = 8;

/**
 * True when the other side of a socket is gone altogether. One that has only ended its half still reads, which
 * reading end of file cannot tell apart.
 */
export function isHungUp(fd: number): boolean {
  const entry = Buffer.alloc(POLLFD_BYTES);
  entry.writeInt32LE(fd, 0);
  poll(`descriptor ${fd}`, entry, 1, 0);
  return (entry.readInt16LE(6) & (POLLHUP | POLLERR)) !== 0;
}
