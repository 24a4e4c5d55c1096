import { readFileSync } from 'node:fs';
import { connect as connectTcp } from 'node:net';
import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { ConnectionOptions } from 'node:tls';
import { errorText, invalidArgument } from '../../daemon/base/errors.ts';

/** Where a receiver listens: `tcp://host:port`, `unix:///path`. */
export type ReceiverAddress =
  | { scheme: string; host: string; port: number }
  | { scheme: 'unix' | 'unixgram'; path: string };

/** Reads `scheme://host[:port]` or `unix:///path`. `what` names the option in errors. Pure. */
export function parseReceiver(
  text: string,
  { what, schemes, port }: { what: string; schemes: readonly string[]; port: number | null },
): ReceiverAddress {
  const match = /^([a-z+]+):\/\/(.*)$/.exec(text);
  const scheme = match?.[1] ?? '';
  const rest = match?.[2] ?? '';
  if (match === null || !schemes.includes(scheme)) {
    throw invalidArgument(`${what} should be in form proto://address, got ${text}`);
  }
  if (scheme === 'unix' || scheme === 'unixgram') {
    if (!rest.startsWith('/')) {
      throw invalidArgument(`invalid ${what} ${text}: the path must be absolute`);
    }
    return { scheme, path: rest };
  }
  const place = /^(?:\[([0-9a-fA-F:.]+)\]|([^:/[\]]+))?(?::(\d{1,5}))?\/?$/.exec(rest);
  const number = Number(place?.[3] ?? port ?? Number.NaN);
  if (place === null || !(number >= 1 && number <= 65_535)) {
    throw invalidArgument(`invalid ${what} ${text}: please provide ${scheme}://host:port`);
  }
  return { scheme, host: place[1] ?? place[2] ?? '127.0.0.1', port: number };
}

/** A new stream to this address; `tls` where its scheme asks for it. */
export function connectTo(address: ReceiverAddress, tls?: ConnectionOptions): Socket {
  if ('path' in address) {
    return connectTcp({ path: address.path });
  }
  const { host, port } = address;
  return tls === undefined
    ? connectTcp({ host, port })
    : connectTls({ host, port, ...serverName(host), ...tls });
}

/** Names of servers go into the greeting, addresses must not. */
function serverName(host: string): { servername?: string } {
  return /^[\d.]+$|:/.test(host) ? {} : { servername: host };
}

/** The content of a file that an option names. Throws invalid_argument naming both. */
export function readOptionFile(option: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw invalidArgument(`log opt ${option}: ${errorText(error)}`, { cause: error });
  }
}
