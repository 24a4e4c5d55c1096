import { createServer as createTcp, type Server as TcpServer, type Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import type { Clock } from '../../../base/clock.ts';
import { EngineError, errorText } from '../../../base/errors.ts';
import type { Logger } from '../../../base/logger.ts';
import type { Forwarder } from '../forwarding/forwarder.ts';
import { joinTarget } from '../forwarding/upgrade.ts';
import type { Routes } from '../forwarding/routes.ts';
import type { KnownPlaces } from '../health/places.ts';
import { targetLimits } from '../limits.ts';
import type { Listener } from '../services/service.ts';
import type { TargetStore } from '../store/port.ts';
import type { Tables } from '../store/tables.ts';
import {
  createPlainServer,
  createTlsServer,
  TLS_MIN,
  type Handlers,
  type ListenerCertificate,
} from './http-server.ts';
import { shownCertificate, type ShownCertificate } from './shown-certificate.ts';

export interface ListenerSocketDeps {
  store: TargetStore;
  tables: Tables;
  forwarder: Forwarder;
  routes: Routes;
  places: KnownPlaces;
  /** Undefined = all addresses of this host. */
  host: string | undefined;
  /** Of listeners of HTTPS whose service names none. */
  certificate: ListenerCertificate | undefined;
  clock: Clock;
  log: Logger;
}

interface Served {
  server: TcpServer;
  /** Lets clients go that wait for nothing. */
  endIdle: () => void;
}

interface Open extends Served {
  port: number;
  /** Which certificate it shows, as `ShownCertificate.version`. */
  shown: string | undefined;
  sockets: Set<Socket>;
}

/** The ports of listeners on this host, opened and closed as their records come and go. */
export class ListenerSockets implements AsyncDisposable {
  readonly #deps: ListenerSocketDeps;
  readonly #open = new Map<string, Open>();
  /** Ports that could not be opened; said once. */
  readonly #refused = new Set<string>();
  #seen = -1;
  #timer: Disposable | undefined;
  #isClosed = false;

  constructor(deps: ListenerSocketDeps) {
    this.#deps = deps;
  }

  /** Looks now, then again and again. Resolves after the first look. */
  async follow(): Promise<void> {
    if (this.#isClosed) {
      return;
    }
    await this.look();
    this.#timer = this.#deps.clock.setTimeout(() => {
      this.follow().catch((error: unknown) =>
        this.#deps.log.error({ err: error }, 'listeners are not followed'),
      );
    }, targetLimits.checkTickMs);
  }

  /** Opens and closes what is not as the records say. */
  async look(): Promise<void> {
    const { store, tables, log } = this.#deps;
    if (this.#seen === store.revision && this.#refused.size === 0) {
      return;
    }
    this.#seen = store.revision;
    const wanted = new Map(tables.listeners.below().map((listener) => [keyOf(listener), listener]));
    for (const [key, open] of this.#open) {
      if (wanted.get(key)?.port !== open.port) {
        this.#open.delete(key);
        this.#end(open);
      }
    }
    this.#refused.forEach((key) => wanted.has(key) || this.#refused.delete(key));
    for (const [key, listener] of wanted) {
      const open = this.#open.get(key);
      if (open !== undefined) {
        this.#renew(open, listener);
        continue;
      }
      try {
        this.#open.set(key, await this.#start(key, listener));
        this.#refused.delete(key);
        log.info({ listener: key, port: listener.port }, 'serving a listener');
      } catch (error) {
        if (!this.#refused.has(key)) {
          this.#refused.add(key);
          log.error(
            { listener: key, port: listener.port, reason: errorText(error) },
            'cannot serve a listener',
          );
        }
      }
    }
  }

  /** Throws conflict where a listener cannot have a port of this host. */
  async reserve(port: number): Promise<void> {
    const server = createTcp();
    try {
      await listening(server, port, this.#deps.host);
    } catch (error) {
      throw new EngineError('conflict', `port: ${port} cannot be used: ${errorText(error)}`, {
        cause: error,
        details: { resourceType: 'LISTENER', resourceId: String(port) },
      });
    }
    await new Promise((resolve) => {
      server.close(resolve);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#timer?.[Symbol.dispose]();
    const all = [...this.#open.values()];
    this.#open.clear();
    await Promise.all(
      all.map(async ({ server, sockets }) => {
        const closed = new Promise((resolve) => {
          server.close(resolve);
        });
        sockets.forEach((socket) => socket.destroy());
        await closed;
      }),
    );
  }

  /** Connections that stand go on with the certificate that they were shown. */
  #renew(open: Open, listener: Listener): void {
    const certificate = this.#certificate(listener);
    if (certificate !== undefined && certificate.version !== open.shown && open.server instanceof TlsServer) {
      open.server.setSecureContext({
        cert: certificate.certificate,
        key: certificate.key,
        minVersion: TLS_MIN,
      });
      open.shown = certificate.version;
    }
  }

  #certificate(listener: Listener): ShownCertificate | undefined {
    const { tables, certificate } = this.#deps;
    return shownCertificate(tables, listener, certificate);
  }

  async #start(key: string, listener: Listener): Promise<Open> {
    const { port } = listener;
    const certificate = this.#certificate(listener);
    const { server, endIdle } = this.#server(key, listener.protocol, certificate);
    const sockets = new Set<Socket>();
    server.on('connection', (socket: Socket) => {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.once('close', () => sockets.delete(socket));
    });
    server.maxConnections = targetLimits.connectionsMax;
    await listening(server, port, this.#deps.host);
    return { server, endIdle, port, sockets, shown: certificate?.version };
  }

  #server(key: string, protocol: Listener['protocol'], certificate: ListenerCertificate | undefined): Served {
    if (protocol === 'TLS_PASSTHROUGH') {
      return { server: this.#bytes(key), endIdle: () => undefined };
    }
    const { forwarder } = this.#deps;
    const handlers: Handlers = {
      serve: (req, res) => forwarder.serve(key, req, res),
      upgrade: (req, socket, head) => forwarder.upgrade(key, req, socket, head),
    };
    if (protocol === 'HTTP') {
      return createPlainServer(handlers);
    }
    if (certificate === undefined) {
      throw new EngineError(
        'invalid_argument',
        'HTTPS needs a certificate of the service, or cluster.tls-cert',
      );
    }
    return createTlsServer(certificate, handlers);
  }

  #bytes(key: string): TcpServer {
    return createTcp({ allowHalfOpen: true }, (client) => {
      joinTarget(this.#deps, key, { client, first: Buffer.alloc(0), refuse: () => client.destroy() });
    });
  }

  /** New connections are refused at once; requests that are under way may finish. */
  #end({ server, endIdle, sockets }: Open): void {
    server.close();
    endIdle();
    this.#deps.clock.setTimeout(() => sockets.forEach((socket) => socket.destroy()), targetLimits.closeMs);
  }
}

function listening(server: TcpServer, port: number, host: string | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function keyOf({ service, id }: Listener): string {
  return `${service}/${id}`;
}
