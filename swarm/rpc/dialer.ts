import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import type { Clock } from '../../daemon/base/clock.ts';
import { EngineError, errorText } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import { keepAlive } from './alive.ts';
import { Client } from './client.ts';
import type { Credentials } from './credentials.ts';
import { bundleOf, managerOf } from './peer.ts';

/** Managers are dialled by their role: addresses change. */
const SERVER_NAME = 'swarm-manager';

interface Deps {
  clock: Clock;
  /** As they are now. Undefined: nothing is verified and nothing shown, to learn a swarm's root. */
  credentials: () => Credentials | undefined;
}

/** Connections to managers, one per address however many use it; made anew where one is lost. */
export class Dialer implements Disposable {
  readonly #deps: Deps;
  readonly #sessions = new Map<string, Promise<ClientHttp2Session>>();
  readonly #users = new Map<string, number>();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  readonly dial = (addr: string): Client => {
    this.#users.set(addr, (this.#users.get(addr) ?? 0) + 1);
    return new Client({
      addr,
      clock: this.#deps.clock,
      session: () => this.#session(addr),
      onDispose: () => this.#leave(addr),
    });
  };

  /** The own certificate or the roots have changed: new calls use new connections. */
  refresh(): void {
    for (const addr of this.#sessions.keys()) {
      this.#drop(addr);
    }
  }

  [Symbol.dispose](): void {
    this.refresh();
  }

  #session(addr: string): Promise<ClientHttp2Session> {
    const present = this.#sessions.get(addr);
    if (present !== undefined) {
      return present;
    }
    const made = this.#connect(addr);
    this.#sessions.set(addr, made);
    const forget = (): void => {
      if (this.#sessions.get(addr) === made) {
        this.#sessions.delete(addr);
      }
    };
    made.then(
      (session) => session.once('close', forget).once('goaway', forget),
      () => forget(),
    );
    return made;
  }

  #leave(addr: string): void {
    const users = (this.#users.get(addr) ?? 1) - 1;
    if (users > 0) {
      this.#users.set(addr, users);
    } else {
      this.#users.delete(addr);
      this.#drop(addr);
    }
  }

  /** Calls that run on it end by themselves. */
  #drop(addr: string): void {
    const session = this.#sessions.get(addr);
    this.#sessions.delete(addr);
    session?.then(
      (open) => open.close(),
      () => {
        // It never came about; whoever called was told.
      },
    );
  }

  async #connect(addr: string): Promise<ClientHttp2Session> {
    const { clock } = this.#deps;
    const socket = await this.#secure(addr);
    const session = connectHttp2(`https://${SERVER_NAME}`, {
      createConnection: () => socket,
      settings: { initialWindowSize: limits.swarmStreamWindowBytes },
    });
    session.once('connect', () => session.setLocalWindowSize(limits.swarmConnectionWindowBytes));
    session.on('error', () => session.destroy());
    keepAlive(clock, session, limits.swarmPingDialledMs);
    return session;
  }

  /** Throws unavailable, or what is wrong with the other side's certificate. */
  async #secure(addr: string): Promise<TLSSocket> {
    const credentials = this.#deps.credentials();
    const { host, port } = parseAddr(addr);
    const socket = connectTls({
      host,
      port,
      servername: SERVER_NAME,
      ALPNProtocols: ['h2'],
      minVersion: 'TLSv1.2',
      // `managerOf` is stricter.
      rejectUnauthorized: false,
      ...(credentials?.own === undefined
        ? {}
        : { cert: credentials.own.certPem, key: credentials.own.keyPem }),
    });
    try {
      await connected(this.#deps.clock, socket, addr);
      if (credentials !== undefined) {
        managerOf(bundleOf(socket), {
          clock: this.#deps.clock,
          rootsPem: credentials.rootsPem,
          cluster: credentials.own?.cluster,
          blocked: new Map(),
          generation: 0,
        });
      }
      return socket;
    } catch (error) {
      socket.destroy();
      throw error;
    }
  }
}

function connected(clock: Clock, socket: TLSSocket, addr: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (why: string): void => {
      timer[Symbol.dispose]();
      reject(new EngineError('unavailable', `connect to ${addr}: ${why}`));
    };
    const timer = clock.setTimeout(() => fail('no answer'), limits.swarmConnectMs);
    socket.on('error', (error) => fail(errorText(error)));
    socket.once('close', () => fail('the connection was closed'));
    socket.once('secureConnect', () => {
      timer[Symbol.dispose]();
      resolve();
    });
  });
}

/** `HOST:PORT`, `[HOST]:PORT`. Throws invalid_argument. */
function parseAddr(addr: string): { host: string; port: number } {
  const [, six, four, port] = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(addr) ?? [];
  const host = six ?? four;
  if (host === undefined || Number(port) > 65_535) {
    throw new EngineError('invalid_argument', `${addr} is no address of a manager`);
  }
  return { host, port: Number(port) };
}
