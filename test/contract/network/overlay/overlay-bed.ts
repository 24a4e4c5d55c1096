import dgram from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { parseIpv4 } from '../../../../daemon/base/addresses/ipv4.ts';
import { parseIpv6 } from '../../../../daemon/base/addresses/ipv6.ts';
import { inNetworkNamespace } from '../../../../daemon/base/kernel/processes/namespaces.ts';
import {
  AF,
  SOCK,
  bindSocket,
  ipv4SocketAddress,
  ipv6SocketAddress,
  openSocket,
} from '../../../../daemon/base/kernel/sockets/sockets.ts';
import { NamespaceDirectory } from '../../../../runtime/network/namespace-directory.ts';
import { command } from '../host-namespace.ts';

/** How long a test waits for an answer that never comes. */
const PATIENCE_MS = 5_000;

/** A network's namespace with a bridge, and members on it, made by `ip`. */
export class OverlayBed {
  readonly directory = mkdtempSync(path.join(os.tmpdir(), `berth-overlay-${process.pid}-`));
  readonly namespaces = new NamespaceDirectory(path.join(this.directory, 'overlays'));
  readonly #members = new NamespaceDirectory(path.join(this.directory, 'members'));
  readonly #closing: (() => void)[] = [];

  /** Makes a namespace as overlay networks have it. */
  network(id: string, ...gateways: string[]): void {
    this.namespaces.create(id).close();
    const inside = (...argv: string[]): string => this.in(this.namespaces.path(id), ...argv);
    inside('sysctl', '-qw', 'net.ipv4.ip_forward=1', 'net.ipv6.conf.all.forwarding=1');
    inside('ip', 'link', 'set', 'lo', 'up');
    inside('ip', 'link', 'add', 'br0', 'type', 'bridge', 'mcast_snooping', '0');
    inside('sysctl', '-qw', 'net.ipv6.conf.br0.disable_ipv6=0');
    inside('ip', 'link', 'set', 'br0', 'up');
    for (const gateway of gateways) {
      inside('ip', 'address', 'add', gateway, 'dev', 'br0', ...noDad(gateway));
    }
  }

  /** A container on the network's bridge. Returns where its namespace is. */
  member(networkId: string, name: string, ...addresses: string[]): string {
    this.#members.create(name).close();
    const file = this.#members.path(name);
    const inside = (...argv: string[]): string => this.in(file, ...argv);
    const outside = (...argv: string[]): string => this.in(this.namespaces.path(networkId), ...argv);
    outside('ip', 'link', 'add', 'name', name, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', file);
    outside('ip', 'link', 'set', 'dev', name, 'master', 'br0');
    outside('bridge', 'link', 'set', 'dev', name, 'hairpin', 'on');
    outside('ip', 'link', 'set', 'dev', name, 'up');
    inside('sysctl', '-qw', 'net.ipv6.conf.eth0.disable_ipv6=0');
    inside('ip', 'link', 'set', 'lo', 'up');
    inside('ip', 'link', 'set', 'eth0', 'up');
    for (const address of addresses) {
      inside('ip', 'address', 'add', address, 'dev', 'eth0', ...noDad(address));
    }
    return file;
  }

  in(file: string, ...argv: string[]): string {
    return command('nsenter', `--net=${file}`, ...argv);
  }

  /** Answers connections and datagrams in a member with its tag and the client's address; echoes what comes after. */
  async serve(file: string, tag: string, port = 80, family: 4 | 6 = 4): Promise<void> {
    const { tcpFd, udpFd } = inNetworkNamespace(file, () => ({
      tcpFd: bound(family, SOCK.stream, port),
      udpFd: bound(family, SOCK.datagram, port),
    }));
    const sockets = new Set<net.Socket>();
    const tcp = net.createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => sockets.delete(socket));
      socket.write(`${tag} ${socket.remoteAddress ?? ''}`);
      socket.on('data', (data: Buffer) => socket.write(`${tag}:${data.toString()}`));
    });
    tcp.listen({ fd: tcpFd });
    await once(tcp, 'listening');
    const udp = dgram.createSocket(family === 4 ? 'udp4' : 'udp6');
    udp.on('message', (_message, from) => udp.send(`${tag} ${from.address}`, from.port, from.address));
    udp.bind({ fd: udpFd });
    this.#closing.push(() => {
      sockets.forEach((socket) => socket.destroy());
      tcp.close();
      udp.close();
    });
  }

  /** A connection from a namespace, null = the host's; it says what it gets. */
  connect(file: string | null, address: string, port = 80): Connection {
    const family = address.includes(':') ? AF.inet6 : AF.inet;
    const open = (): number => openSocket('client', family, SOCK.stream, 0);
    const connection = new Connection(
      new net.Socket({ fd: file === null ? open() : inNetworkNamespace(file, open) }),
    );
    connection.socket.connect({ host: address, port });
    this.#closing.push(() => connection.socket.destroy());
    return connection;
  }

  /** First answer of a new connection, or the code of its error. */
  async ask(file: string | null, address: string, port = 80): Promise<string> {
    const connection = this.connect(file, address, port);
    const answer = await connection.next();
    connection.socket.destroy();
    return answer;
  }

  /** A UDP client that keeps its port. */
  async chatter(file: string | null, address: string, port = 80): Promise<Chatter> {
    const family = address.includes(':') ? 6 : 4;
    const socket = dgram.createSocket(family === 4 ? 'udp4' : 'udp6');
    const open = (): number => bound(family, SOCK.datagram, 0);
    socket.bind({ fd: file === null ? open() : inNetworkNamespace(file, open) });
    socket.connect(port, address);
    await once(socket, 'connect');
    this.#closing.push(() => socket.close());
    return new Chatter(socket);
  }

  [Symbol.dispose](): void {
    this.#closing.forEach((close) => {
      try {
        close();
      } catch {
        // It is closed.
      }
    });
    for (const directory of [this.#members, this.namespaces]) {
      directory.list().forEach((id) => directory.remove(id));
    }
    rmSync(this.directory, { recursive: true, force: true });
  }
}

export class Connection {
  readonly socket: net.Socket;
  readonly #events: string[] = [];

  constructor(socket: net.Socket) {
    this.socket = socket;
    socket.on('data', (data: Buffer) => this.#events.push(String(data)));
    socket.on('error', (error: NodeJS.ErrnoException) => this.#events.push(error.code ?? error.message));
    socket.on('end', () => this.#events.push('end'));
  }

  /** What comes next: data, `end`, or the code of an error; `nothing` after a long time. */
  next(): Promise<string> {
    return nextOf(this.#events);
  }

  async say(text: string): Promise<string> {
    this.socket.write(text);
    return await this.next();
  }
}

export class Chatter {
  readonly #socket: dgram.Socket;
  readonly #events: string[] = [];

  constructor(socket: dgram.Socket) {
    this.#socket = socket;
    socket.on('message', (data) => this.#events.push(String(data)));
    socket.on('error', (error: NodeJS.ErrnoException) => this.#events.push(error.code ?? error.message));
  }

  async say(text = 'ping'): Promise<string> {
    this.#events.length = 0;
    this.#socket.send(text);
    return await nextOf(this.#events);
  }
}

async function nextOf(events: string[]): Promise<string> {
  const end = performance.now() + PATIENCE_MS;
  while (events.length === 0 && performance.now() < end) {
    await new Promise((resolve) => void setTimeout(resolve, 1));
  }
  return events.shift() ?? 'nothing';
}

function bound(family: 4 | 6, type: number, port: number): number {
  const fd = openSocket('member', family === 4 ? AF.inet : AF.inet6, type, 0);
  bindSocket(
    'member',
    fd,
    family === 4 ? ipv4SocketAddress(0, port) : ipv6SocketAddress(Buffer.alloc(16), port),
  );
  return fd;
}

function noDad(address: string): string[] {
  return address.includes(':') ? ['nodad'] : [];
}

/** As the engine has it. */
export function ip(text: string): number {
  return parseIpv4(text) ?? 0;
}

export function ip6(text: string): bigint {
  return parseIpv6(text) ?? 0n;
}
