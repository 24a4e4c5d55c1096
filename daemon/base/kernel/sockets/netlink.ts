import { AF, SOCK, bindSocket, closeSocket, openSocket, setSocketOption } from './sockets.ts';

/** Netlink families (linux/netlink.h). */
export const NETLINK = { route: 0, xfrm: 6, netfilter: 12 } as const;

const SOL_NETLINK = 270;
const NETLINK_ADD_MEMBERSHIP = 1;
const SOL_SOCKET = 1;
const SO_RCVBUF = 8;
const SO_SNDBUFFORCE = 32;
/** Answers carry the kernel's own sentence about what was wrong. */
const NETLINK_EXT_ACK = 11;
/** An error answer need not repeat the request. */
const NETLINK_CAP_ACK = 10;
/** Dumps honour the filters in the request's header (since Linux 4.20). */
const NETLINK_GET_STRICT_CHK = 12;

/**
 * Opens a netlink socket in the calling thread's network namespace; the socket stays with that namespace for
 * life.
 */
export function openNetlinkSocket(family: number): number {
  const object = `netlink family ${family}`;
  const fd = openSocket(object, AF.netlink, SOCK.raw, family);
  setSocketOption(object, fd, SOL_NETLINK, NETLINK_EXT_ACK, 1);
  setSocketOption(object, fd, SOL_NETLINK, NETLINK_CAP_ACK, 1);
  setSocketOption(object, fd, SOL_NETLINK, NETLINK_GET_STRICT_CHK, 1);
  return fd;
}

/** Lets a socket send datagrams of so many bytes, past the limit of the host: a transaction is one datagram. */
export function allowLargeDatagrams(object: string, fd: number, bytes: number): void {
  setSocketOption(object, fd, SOL_SOCKET, SO_SNDBUFFORCE, bytes);
}

/** What a listener keeps of what it has not read: past this the kernel only says that there was more (ENOBUFS). */
const LISTENER_BYTES = 16 * 1024;

/**
 * Opens a socket that hears what the kernel tells a multicast group of the family, in the calling thread's network
 * namespace, which it stays with.
 */
export function openNetlinkListener(family: number, group: number): number {
  const object = `netlink family ${family}, group ${group}`;
  const fd = openSocket(object, AF.netlink, SOCK.raw, family);
  try {
    setSocketOption(object, fd, SOL_SOCKET, SO_RCVBUF, LISTENER_BYTES);
    // Without an address of its own it receives nothing.
    bindSocket(object, fd, anyNetlinkAddress());
    setSocketOption(object, fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, group);
    return fd;
  } catch (error) {
    closeSocket(fd);
    throw error;
  }
}

/** `struct sockaddr_nl`; the kernel chooses the port. */
function anyNetlinkAddress(): Buffer {
  const address = Buffer.alloc(12);
  address.writeUInt16LE(AF.netlink, 0);
  return address;
}
