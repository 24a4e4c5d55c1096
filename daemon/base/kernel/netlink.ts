import { AF, SOCK, openSocket, setSocketOption } from './sockets.ts';

/** Netlink families (linux/netlink.h). */
export const NETLINK = { route: 0, netfilter: 12 } as const;

const SOL_NETLINK = 270;
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
