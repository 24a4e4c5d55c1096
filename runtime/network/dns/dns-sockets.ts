import dgram from 'node:dgram';
import net from 'node:net';
import { internal } from '../../../daemon/base/errors.ts';
import { isIpv4, parseIp } from '../../../daemon/base/addresses/ip.ts';
import { ipv6Bytes } from '../../../daemon/base/addresses/ipv6.ts';
import { NETLINK } from '../../../daemon/base/kernel/sockets/netlink.ts';
import {
  AF,
  SOCK,
  bindSocket,
  closeSocket,
  connectSocket,
  ipv4SocketAddress,
  ipv6SocketAddress,
  openSocket,
  portOfSocket,
  sendDatagramNow,
} from '../../../daemon/base/kernel/sockets/sockets.ts';
import { limits } from '../../../daemon/base/limits.ts';
import type { Logger } from '../../../daemon/base/logger.ts';
import { NAME_SERVER_NUMBER, dnsRules } from './dns-rules.ts';
import { DnsConnection } from './dns-connection.ts';
import type { NetlinkRequest } from '../netlink/netlink.ts';
import { NetlinkSocket } from '../netlink/netlink-socket.ts';
import type { NamespaceDirectory } from '../namespace-directory.ts';

export type NameProtocol = 'udp' | 'tcp';

/** A question from a sandbox; `reply` may be called once, also much later. */
export type NameHandler = (message: Buffer, protocol: NameProtocol, reply: (answer: Buffer) => void) => void;

/** A server to ask, and the namespace to ask from. */
export interface Upstream {
  address: string;
  /** Id of a sandbox; null = the host's own namespace. */
  from: string | null;
}

/** One question to one server, over UDP or TCP. */
export interface NameExchange {
  send(message: Buffer): void;
  close(): void;
}

const PORT = 53;

/**
 * Sockets for names: those that listen in sandboxes at 127.0.0.11, and sockets to other name servers from within a
 * sandbox or from the host. A socket stays in the namespace in which it was opened, so the event loop of the daemon
 * serves all of them, without a process or thread for any.
 */
export class DnsSockets {
  readonly #namespaces: NamespaceDirectory;
  readonly #log: Logger;

  constructor(deps: { namespaces: NamespaceDirectory; log: Logger }) {
    this.#namespaces = deps.namespaces;
    this.#log = deps.log;
  }

  /** Listens in the sandbox until disposed. Leaves no socket when it throws. */
  listen(id: string, handle: NameHandler): Disposable {
    const [udpFd, tcpFd] = this.#namespaces.enter(id, () => openListeners(id, this.#log));
    const udp = dgram.createSocket({ type: 'udp4', lookup: asItIs });
    udp.on('message', (message, { address, port }) => {
      handle(message, 'udp', (answer) => {
        try {
          udp.send(answer, port, address);
        } catch {
          // Closed meanwhile: no question waits any more.
        }
      });
    });
    const tcp = net.createServer({ allowHalfOpen: true }, (socket) => {
      DnsConnection.over(socket, (message, reply) => handle(message, 'tcp', reply));
    });
    tcp.maxConnections = limits.dnsConnectionsMax;
    const complain = (err: Error): void =>
      this.#log.warn({ container: id, err }, 'name server of a container');
    udp.on('error', complain);
    tcp.on('error', complain);
    udp.bind({ fd: udpFd });
    tcp.listen({ fd: tcpFd });
    return {
      [Symbol.dispose]: () => {
        udp.close();
        tcp.close();
      },
    };
  }

  /** One question to another name server. Throws KernelError when there is no way to it. */
  exchange(
    upstream: Upstream,
    protocol: NameProtocol,
    handlers: { answered: (message: Buffer) => void; failed: () => void },
  ): NameExchange {
    return protocol === 'udp' ? this.#askByUdp(upstream, handlers) : this.#askByTcp(upstream, handlers);
  }

  #askByUdp(
    { address, from }: Upstream,
    handlers: { answered: (message: Buffer) => void; failed: () => void },
  ): NameExchange {
    const { family, socketAddress } = addressOf(address);
    const fd = this.#inside(from, () => openSocket(address, family, SOCK.datagram, 0));
    try {
      // From here on the kernel drops what comes from other addresses.
      connectSocket(address, fd, socketAddress);
    } catch (error) {
      closeSocket(fd);
      throw error;
    }
    const socket = dgram.createSocket(family === AF.inet ? 'udp4' : 'udp6');
    socket.on('message', handlers.answered);
    socket.on('error', handlers.failed);
    socket.bind({ fd });
    return closedOnce(
      (message) => sendDatagramNow(address, fd, message),
      () => socket.close(),
    );
  }

  #askByTcp(
    { address, from }: Upstream,
    handlers: { answered: (message: Buffer) => void; failed: () => void },
  ): NameExchange {
    const { family } = addressOf(address);
    const fd = this.#inside(from, () => openSocket(address, family, SOCK.stream, 0));
    const socket = new net.Socket({ fd });
    socket.on('close', handlers.failed);
    const connection = DnsConnection.over(socket, handlers.answered);
    socket.connect({ host: address, port: PORT });
    return closedOnce(
      (message) => connection.write(message),
      () => socket.destroy(),
    );
  }

  #inside<T>(id: string | null, work: () => T): T {
    return id === null ? work() : this.#namespaces.enter(id, work);
  }
}

function openListeners(id: string, log: Logger): [udp: number, tcp: number] {
  const opened: number[] = [];
  try {
    for (const type of [SOCK.datagram, SOCK.stream]) {
      const fd = openSocket(id, AF.inet, type, 0);
      opened.push(fd);
      bindSocket(id, fd, ipv4SocketAddress(NAME_SERVER_NUMBER, 0));
    }
    const [udp = -1, tcp = -1] = opened;
    setRules(id, dnsRules({ udp: portOfSocket(id, udp), tcp: portOfSocket(id, tcp) }), log);
    return [udp, tcp];
  } catch (error) {
    opened.forEach(closeSocket);
    throw error;
  }
}

/** What is in place of an earlier daemon's rules makes the kernel wait at the socket's end: not on this thread. */
function setRules(id: string, rules: readonly NetlinkRequest[], log: Logger): void {
  const netfilter = new NetlinkSocket(NETLINK.netfilter);
  try {
    netfilter.transact(`name server of container ${id}`, rules);
  } finally {
    netfilter.closeSlowly().catch((err: unknown) => {
      log.warn({ container: id, err }, 'socket for rules of a name server');
    });
  }
}

/** Answers go to addresses: nothing is to be looked up, and no turn of the event loop is waited for. */
function asItIs(
  address: string,
  _options: unknown,
  found: (error: null, address: string, family: number) => void,
): void {
  found(null, address, 4);
}

function addressOf(text: string): { family: number; socketAddress: Buffer } {
  const address = parseIp(text);
  if (address === undefined) {
    throw internal(`name server ${text}: not an IP address`);
  }
  return isIpv4(address)
    ? { family: AF.inet, socketAddress: ipv4SocketAddress(address, PORT) }
    : { family: AF.inet6, socketAddress: ipv6SocketAddress(ipv6Bytes(address), PORT) };
}

function closedOnce(send: (message: Buffer) => void, close: () => void): NameExchange {
  let isClosed = false;
  return {
    send,
    close: () => {
      if (!isClosed) {
        isClosed = true;
        close();
      }
    },
  };
}
