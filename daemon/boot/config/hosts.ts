import { invalidArgument } from '../../base/errors.ts';

/** One place where the API listens. */
export type HostAddress =
  | { kind: 'unix'; path: string }
  /** Sockets passed by systemd; with a name only those of that FileDescriptorName. */
  | { kind: 'fd'; name: string | null }
  | { kind: 'tcp'; host: string; port: number; isLoopback: boolean };

/** Ports that Docker clients take for granted. */
const PLAIN_PORT = 2375;
const TLS_PORT = 2376;

/** Reads one entry of `hosts`. Throws invalid_argument that names it. */
export function parseHost(text: string, options: { tls: boolean }): HostAddress {
  if (text.startsWith('unix://')) {
    const path = text.slice('unix://'.length);
    if (!path.startsWith('/')) {
      throw invalidArgument(`hosts: ${text}: the path of a Unix socket must be absolute`);
    }
    if (Buffer.byteLength(path) > 107) {
      throw invalidArgument(`hosts: ${text}: the path of a Unix socket has at most 107 bytes`);
    }
    return { kind: 'unix', path };
  }
  if (text.startsWith('fd://')) {
    const name = text.slice('fd://'.length);
    return { kind: 'fd', name: name === '' || name === '*' ? null : name };
  }
  const match = /^tcp:\/\/(?:\[([0-9a-fA-F:.]+)\]|([^:/[\]]+))(?::(\d{1,5}))?\/?$/.exec(text);
  const port = Number(match?.[3] ?? (options.tls ? TLS_PORT : PLAIN_PORT));
  const host = match?.[1] ?? match?.[2];
  if (host === undefined || port < 1 || port > 65_535) {
    throw invalidArgument(`hosts: ${text}: must be unix:///path, fd://[name] or tcp://address[:port]`);
  }
  return { kind: 'tcp', host, port, isLoopback: isLoopback(host) };
}

/** An address with a port to listen on. */
export interface ListenAddress {
  /** Undefined = all addresses of this host. */
  host: string | undefined;
  port: number;
  isLoopback: boolean;
}

/** How `metrics-addr`, `hub-address` and `cluster-address` look. */
export const LISTEN_ADDRESS = /^(?:|(?:\[[0-9a-fA-F:.]+\]|[^:\s/[\]]+)?:\d{1,5})$/;

/**
 * Reads `127.0.0.1:9323`, `[::1]:9323`, `name:9323`, or as with dockerd `:9323` for all addresses of this host.
 * Undefined when it is empty. Throws invalid_argument that names the setting.
 */
export function parseListenAddress(setting: string, text: string): ListenAddress | undefined {
  if (text === '') {
    return undefined;
  }
  const separator = text.lastIndexOf(':');
  const port = Number(text.slice(separator + 1));
  if (port < 1 || port > 65_535) {
    throw invalidArgument(`${setting}: ${text}: the port must be from 1 to 65535`);
  }
  const host = text.slice(0, separator).replaceAll(/[[\]]/g, '');
  return { host: host === '' ? undefined : host, port, isLoopback: isLoopback(host) };
}

// Names are not resolved: what "localhost" means is certain, what any other name means can change.
function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}
