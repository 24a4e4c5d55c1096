import type { IncomingMessage } from 'node:http';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Duplex } from 'node:stream';
import type { KnownPlaces } from '../health/places.ts';
import { targetLimits } from '../limits.ts';
import { upgradeHeaders } from './headers.ts';
import type { Destination, Routes } from './routes.ts';

interface UpgradeDeps {
  routes: Routes;
  places: KnownPlaces;
}

interface Upgrade {
  req: IncomingMessage;
  socket: Duplex;
  /** What came behind the request. */
  head: Buffer;
}

/** Joins a client that asks for another protocol with a target, which answers as it likes. */
export function forwardUpgrade(deps: UpgradeDeps, listener: string, { req, socket, head }: Upgrade): void {
  const headers = upgradeHeaders(req);
  const lines = [`${req.method ?? 'GET'} ${req.url ?? '/'} HTTP/1.1`];
  for (let index = 0; index + 1 < headers.length; index += 2) {
    lines.push(`${headers[index]}: ${headers[index + 1]}`);
  }
  joinTarget(deps, listener, {
    client: socket,
    first: Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]),
    refuse: (text) =>
      socket.end(`HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\nContent-Length: 0\r\n\r\n${text}`),
  });
}

interface Join {
  client: Duplex;
  /** What the target gets before what the client sends. */
  first: Buffer;
  /** Where no target takes the connection. */
  refuse(text: string): void;
}

/** Passes the bytes of a connection on to a target, and those of the target back, until both have ended. */
export function joinTarget(deps: UpgradeDeps, listener: string, join: Join): void {
  const tried = new Set<Destination>();
  join.client.on('error', () => join.client.destroy());
  const attempt = (): void => {
    const to = deps.routes.of(listener)?.chooser.next(tried);
    if (to === undefined) {
      join.refuse('');
      return;
    }
    tried.add(to);
    // Functions, and targets that speak HTTP2 alone, cannot be asked for another protocol.
    const isJoinable = to.group.type !== 'LAMBDA' && (to.group.config.protocolVersion ?? 'HTTP1') === 'HTTP1';
    const place = isJoinable ? deps.places.of(to.group, to.target) : undefined;
    if (place === undefined) {
      attempt();
      return;
    }
    connectTo(to, place, join, attempt);
  };
  attempt();
}

function connectTo(
  to: Destination,
  place: { host: string; port: number },
  join: Join,
  failed: () => void,
): void {
  const isTls = to.group.config.protocol === 'HTTPS';
  const options = { ...place, allowHalfOpen: true };
  const target: Socket = isTls ? connectTls({ ...options, rejectUnauthorized: false }) : connectTcp(options);
  let isJoined = false;
  to.underWay += 1;
  target.setTimeout(targetLimits.connectMs, () => target.destroy());
  target.once(isTls ? 'secureConnect' : 'connect', () => {
    isJoined = true;
    target.setTimeout(0);
    target.write(join.first);
    join.client.pipe(target);
    target.pipe(join.client);
  });
  target.on('error', () => target.destroy());
  target.once('close', () => {
    to.underWay -= 1;
    if (isJoined) {
      join.client.destroy();
    } else {
      failed();
    }
  });
  join.client.once('close', () => target.destroy());
}
