import { closeSync } from 'node:fs';
import { declare } from '../libc.ts';
import { openSocket, SOCK } from './sockets.ts';

const sendto = declare(
  'long sendto(int fd, const void *data, unsigned long length, int flags, const void *address, uint32_t addressLength)',
);

const AF_UNIX = 1;
const MSG_DONTWAIT = 0x40;
const MSG_NOSIGNAL = 0x4000;
/** sockaddr_un: two bytes of family, 108 of path. */
const PATH_BYTES_MAX = 108;

/**
 * Sends one datagram to a Unix socket without ever waiting. `path` beginning with `@` is an abstract name (unix(7)):
 * its address ends with the name, which is why Node's packages for it do not do. Throws KernelError.
 */
export function sendUnixDatagram(path: string, data: Buffer): void {
  const name = Buffer.from(path.startsWith('@') ? `\0${path.slice(1)}` : `${path}\0`);
  if (name.length > PATH_BYTES_MAX) {
    throw new RangeError(`the path of a Unix socket has at most ${PATH_BYTES_MAX} bytes: ${path}`);
  }
  const address = Buffer.alloc(2 + name.length);
  address.writeUInt16LE(AF_UNIX, 0);
  name.copy(address, 2);
  const fd = openSocket(path, AF_UNIX, SOCK.datagram, 0);
  try {
    sendto(path, fd, data, data.length, MSG_DONTWAIT | MSG_NOSIGNAL, address, address.length);
  } finally {
    closeSync(fd);
  }
}
