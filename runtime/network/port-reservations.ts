import { errnoOf } from '../../daemon/base/errors.ts';
import { formatIp, isIpv4 } from '../../daemon/base/addresses/ip.ts';
import type { IpAddress } from '../../daemon/base/addresses/ip.ts';
import { ipv6Bytes } from '../../daemon/base/addresses/ipv6.ts';
import {
  AF,
  SOCK,
  bindSocket,
  closeSocket,
  ipv4SocketAddress,
  ipv6SocketAddress,
  openSocket,
  setSocketOption,
} from '../../daemon/base/kernel/sockets/sockets.ts';

const SOL_SOCKET = 1;
const SO_REUSEADDR = 2;
const IPPROTO_IPV6 = 41;
const IPPROTO_SCTP = 132;
const IPV6_V6ONLY = 26;

export type Protocol = 'tcp' | 'udp' | 'sctp';

export interface HostPort {
  protocol: Protocol;
  /** 0 or 0n = every address of the host of that family. */
  hostAddress: IpAddress;
  hostPort: number;
}

/**
 * Host ports held by sockets that are bound and never listen: while a port is published no process of the
 * host can take it, and one that a process has already is noticed before anything starts. They end with the
 * daemon's process.
 */
export class PortReservations {
  readonly #sockets = new Map<string, number>();

  /** Throws KernelError: EADDRINUSE (a process has it), EADDRNOTAVAIL (the host has no such address). */
  reserve(port: HostPort): void {
    const key = keyOf(port);
    try {
      this.#sockets.set(key, bound(key, port));
    } catch (error) {
      const errno = errnoOf(error);
      if (errno !== 'EAFNOSUPPORT' && (port.protocol !== 'sctp' || errno !== 'EPROTONOSUPPORT')) {
        throw error;
      }
      // A host without SCTP, or without IPv6: no process of it can have the port either.
    }
  }

  /** Idempotent. */
  release(port: HostPort): void {
    const fd = this.#sockets.get(keyOf(port));
    if (fd !== undefined) {
      this.#sockets.delete(keyOf(port));
      closeSocket(fd);
    }
  }
}

function bound(key: string, port: HostPort): number {
  try {
    // Without SO_REUSEADDR: with it a later process that sets it too could listen beside us.
    return open(key, port, false);
  } catch (error) {
    if (port.protocol !== 'tcp' || errnoOf(error) !== 'EADDRINUSE') {
      throw error;
    }
    // Connections in TIME_WAIT of a server that is gone also say EADDRINUSE. With SO_REUSEADDR only a live
    // one does.
    return open(key, port, true);
  }
}

function open(key: string, port: HostPort, reuse: boolean): number {
  const { hostAddress, hostPort } = port;
  const type = port.protocol === 'udp' ? SOCK.datagram : SOCK.stream;
  const protocol = port.protocol === 'sctp' ? IPPROTO_SCTP : 0;
  const fd = openSocket(key, isIpv4(hostAddress) ? AF.inet : AF.inet6, type, protocol);
  try {
    if (!isIpv4(hostAddress)) {
      setSocketOption(key, fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
    }
    if (reuse) {
      setSocketOption(key, fd, SOL_SOCKET, SO_REUSEADDR, 1);
    }
    bindSocket(
      key,
      fd,
      isIpv4(hostAddress)
        ? ipv4SocketAddress(hostAddress, hostPort)
        : ipv6SocketAddress(ipv6Bytes(hostAddress), hostPort),
    );
    return fd;
  } catch (error) {
    closeSocket(fd);
    throw error;
  }
}

function keyOf(port: HostPort): string {
  return `${formatIp(port.hostAddress)}:${port.hostPort}/${port.protocol}`;
}
