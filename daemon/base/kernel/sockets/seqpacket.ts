import { closeSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { errnoOf } from '../../errors.ts';
import { declare } from '../libc.ts';
import { openRoot } from '../files/safepath.ts';

/**
 * Packet sockets (AF_UNIX, SOCK_SEQPACKET), which Node.js has no streams for. Never blocking: `undefined` and `false`
 * say "not now", and a `Poller` says when.
 */
const socket = declare('int socket(int domain, int type, int protocol)');
const connect = declare('int connect(int fd, void *address, unsigned int length)');
const recv = declare('long recv(int fd, void *buffer, size_t length, int flags)');
const send = declare('long send(int fd, void *buffer, size_t length, int flags)');
const shutdown = declare('int shutdown(int fd, int how)');

const AF_UNIX = 1;
const SOCK_SEQPACKET = 5;
const SOCK_NONBLOCK = 0o4000;
const SOCK_CLOEXEC = 0o2000000;
const MSG_DONTWAIT = 0x40;
const MSG_NOSIGNAL = 0x4000;
const SHUT_WR = 1;

/** struct sockaddr_un: a 16-bit family, 108 bytes of path with its NUL. */
const SUN_PATH_BYTES = 108;

/**
 * Connects to the packet socket at `path`, however long that path is. The caller closes the descriptor. Throws
 * KernelError ENOENT or ECONNREFUSED when there is no listener, EAGAIN when the backlog is full.
 */
export function connectSeqpacket(path: string): number {
  // A longer path does not fit into the address; a descriptor of its directory is always short.
  using directory = openRoot(dirname(path));
  const name = Buffer.from(`${directory.path}/${basename(path)}`);
  const address = Buffer.alloc(2 + SUN_PATH_BYTES);
  address.writeUInt16LE(AF_UNIX, 0);
  name.copy(address, 2, 0, SUN_PATH_BYTES - 1);
  const fd = socket(path, AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  try {
    connect(path, fd, address, address.length);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  return fd;
}

/** Bytes of the next packet put into `buffer`; 0 = the other end is done, undefined = nothing there yet. */
export function receivePacket(fd: number, buffer: Buffer): number | undefined {
  try {
    return recv('packet socket', fd, buffer, buffer.length, MSG_DONTWAIT);
  } catch (error) {
    const code = errnoOf(error);
    if (code === 'EAGAIN' || code === 'EINTR') {
      return undefined;
    }
    if (code === 'ECONNRESET') {
      // The other end closed with packets of ours unread: for a reader that is the end as well.
      return 0;
    }
    throw error;
  }
}

/** Sends one packet; false when the other end must read first. Throws KernelError EPIPE when it is gone. */
export function sendPacket(fd: number, packet: Buffer): boolean {
  try {
    send('packet socket', fd, packet, packet.length, MSG_DONTWAIT | MSG_NOSIGNAL);
    return true;
  } catch (error) {
    if (errnoOf(error) === 'EAGAIN' || errnoOf(error) === 'EINTR' || errnoOf(error) === 'ENOBUFS') {
      return false;
    }
    throw error;
  }
}

/** Half-close: the other end reads the end of input after what was sent. One that is gone is not an error. */
export function endPackets(fd: number): void {
  try {
    shutdown('packet socket', fd, SHUT_WR);
  } catch (error) {
    if (errnoOf(error) !== 'ENOTCONN') {
      throw error;
    }
  }
}
