import { once } from 'node:events';
import { createSecureServer, type Http2SecureServer, type Http2Session } from 'node:http2';
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Clock } from '../../daemon/base/clock.ts';
import { EngineError, errorText, invariant, isEngineError } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import { keepAlive } from './alive.ts';
import type { Credentials } from './credentials.ts';
import { bundleOf, Peer, type Trust } from './peer.ts';
import type { Allowed, Caller, Method } from './port.ts';
import { drain, receive, receiveOne, send } from './wire.ts';

interface Deps {
  clock: Clock;
  logger: Logger;
  /** As they are now; `refresh` when they have changed. */
  credentials: () => Credentials;
  /** Removed nodes, with until when (milliseconds since 1970) they are refused. */
  blocked: () => ReadonlyMap<string, number>;
  /** Whether a node that shows a manager's certificate is one yet: it may have been demoted since. */
  isManager: (node: string) => boolean;
}

interface Open {
  peer: Peer;
  allowed: Allowed;
  stop: AbortController;
}

/** Takes calls of other nodes. What is called may be added at any time: what is not there yet is unavailable. */
export class RpcServer implements AsyncDisposable {
  readonly #deps: Deps;
  readonly #server: Http2SecureServer;
  readonly #methods = new Map<string, Method>();
  readonly #sessions = new Map<Http2Session, Peer>();
  readonly #open = new Set<Open>();
  /** Also of those who have not said yet who they are. */
  readonly #sockets = new Set<Socket>();
  #generation = 0;

  private constructor(deps: Deps) {
    this.#deps = deps;
    this.#server = createSecureServer({
      ...certificateOf(deps.credentials()),
      // Whose certificate it is the swarm's own rules say, at each call: joining nodes have none.
      requestCert: true,
      rejectUnauthorized: false,
      minVersion: 'TLSv1.2',
      handshakeTimeout: limits.swarmConnectMs,
      settings: { maxConcurrentStreams: limits.swarmStreamsMax },
    });
    this.#server.maxConnections = limits.swarmConnectionsMax;
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    this.#server.on('session', (session) => this.#welcome(session));
    this.#server.on('stream', (stream, headers) => {
      void this.#take(stream, headers).catch((error: unknown) => {
        deps.logger.error({ error: errorText(error) }, 'a call between nodes');
      });
    });
    for (const event of ['tlsClientError', 'sessionError', 'error']) {
      this.#server.on(event, (error: unknown) => {
        deps.logger.debug({ error: errorText(error) }, 'a connection between nodes');
      });
    }
  }

  /** Throws failed_precondition `listen tcp ADDRESS: bind: address already in use` where it cannot listen. */
  static async listen(deps: Deps, { address, port }: { address: string; port: number }): Promise<RpcServer> {
    const server = new RpcServer(deps);
    const listening = once(server.#server, 'listening');
    server.#server.listen(port, address);
    try {
      await listening;
    } catch (error) {
      throw new EngineError('failed_precondition', `listen tcp ${address}:${port}: bind: ${wordsOf(error)}`, {
        cause: error,
      });
    }
    return server;
  }

  get port(): number {
    // It listens on a port of TCP.
    return (this.#server.address() as AddressInfo).port;
  }

  add(methods: readonly Method[]): Disposable {
    for (const method of methods) {
      invariant(!this.#methods.has(method.name), `${method.name} is served once`);
      this.#methods.set(method.name, method);
    }
    return {
      [Symbol.dispose]: () => {
        for (const { name } of methods) {
          this.#methods.delete(name);
        }
      },
    };
  }

  /** The own certificate, the roots or the list of blocked nodes have changed: ends calls that are not allowed now. */
  refresh(): void {
    this.#generation += 1;
    this.#server.setSecureContext(certificateOf(this.#deps.credentials()));
    for (const { peer, allowed, stop } of this.#open) {
      try {
        this.#identify(peer, allowed);
      } catch (error) {
        stop.abort(error);
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const session of this.#sessions.keys()) {
      session.destroy();
    }
    // Who is in the middle of connecting has no session yet, and would keep the server open for as long as it likes.
    for (const socket of this.#sockets) {
      socket.destroy();
    }
    await closed;
  }

  #welcome(session: Http2Session): void {
    // A server of TLS has sockets of TLS.
    this.#sessions.set(session, new Peer(bundleOf(session.socket as TLSSocket)));
    session.once('close', () => this.#sessions.delete(session));
    session.on('error', (error) => {
      this.#deps.logger.debug({ error: errorText(error) }, 'a connection between nodes');
    });
    keepAlive(this.#deps.clock, session, limits.swarmPingMs);
  }

  async #take(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> {
    stream.on('error', () => stream.destroy());
    const peer = stream.session && this.#sessions.get(stream.session);
    const method = this.#methods.get(String(headers[':path']).slice(1));
    if (peer === undefined) {
      stream.close();
      return;
    }
    const address = stream.session?.socket.remoteAddress ?? '';
    stream.respond({ ':status': 200 });
    const stop = new AbortController();
    const open: Open = { peer, allowed: method?.allowed ?? 'anyone', stop };
    this.#open.add(open);
    stream.once('close', () => stop.abort(new EngineError('canceled', 'the caller has gone')));
    try {
      const refused = new Promise<never>((_, reject) => {
        stop.signal.addEventListener('abort', () => reject(stop.signal.reason), { once: true });
      });
      // Without a stream of answers nothing else listens to it.
      refused.catch(() => undefined);
      await send(stream, this.#answers(stream, { method, address, headers, open, refused }));
      drain(stream);
    } finally {
      this.#open.delete(open);
    }
  }

  async *#answers(
    stream: ServerHttp2Stream,
    call: {
      method: Method | undefined;
      address: string;
      headers: IncomingHttpHeaders;
      open: Open;
      refused: Promise<never>;
    },
  ): AsyncGenerator {
    const { method, address, headers, open, refused } = call;
    const { signal } = open.stop;
    if (method === undefined) {
      throw new EngineError('unavailable', `${String(headers[':path']).slice(1)}: not served here now`);
    }
    const identity = this.#identify(open.peer, method.allowed);
    const caller: Caller = { identity, address };
    const bytesMax = (): number =>
      identity === undefined ? limits.swarmStrangerBytesMax : limits.swarmMessageBytesMax;
    switch (method.kind) {
      case 'call':
        yield await Promise.race([
          refused,
          receiveOne(stream, bytesMax).then((body) => method.handle(body, caller, signal)),
        ]);
        return;
      case 'upload':
        yield await Promise.race([refused, method.handle(receive(stream, bytesMax), caller, signal)]);
        return;
      case 'stream':
        yield* until(refused, method.handle(await receiveOne(stream, bytesMax), caller, signal));
    }
  }

  /** Undefined for a stranger where anyone may call. Throws unauthorized or forbidden. */
  #identify(peer: Peer, allowed: Allowed): Caller['identity'] {
    const trust = this.#trust();
    try {
      const identity = peer.identity(trust);
      const isManager = identity.role === 'swarm-manager' && this.#deps.isManager(identity.node);
      if (allowed === 'manager' && !isManager) {
        throw new EngineError(
          'forbidden',
          'Permission denied: remote certificate not part of OUs: [swarm-manager]',
        );
      }
      return identity;
    } catch (error) {
      if (allowed === 'anyone' && isEngineError(error)) {
        return undefined;
      }
      throw error;
    }
  }

  #trust(): Trust {
    const { clock, credentials, blocked } = this.#deps;
    const { rootsPem, own } = credentials();
    return { clock, rootsPem, cluster: own?.cluster, blocked: blocked(), generation: this.#generation };
  }
}

/** What `values` brings, until `end` rejects: whoever makes the values may not look at its signal. */
async function* until(end: Promise<never>, values: AsyncIterable<unknown>): AsyncGenerator {
  const iterator = values[Symbol.asyncIterator]();
  let ended: { reason: unknown } | undefined;
  let fail: ((reason: unknown) => void) | undefined;
  end.catch((reason: unknown) => {
    ended = { reason };
    fail?.(reason);
  });
  try {
    for (;;) {
      if (ended !== undefined) {
        throw ended.reason;
      }
      // `Promise.race` would keep every value for as long as `end` is waited for.
      const next = await new Promise<IteratorResult<unknown>>((resolve, reject) => {
        fail = reject;
        iterator.next().then(resolve, reject);
      });
      if (next.done === true) {
        return;
      }
      yield next.value;
    }
  } finally {
    // It may wait for something that never comes: its end is not waited for.
    void iterator.return?.().catch(() => {
      // What it had to say has no listener any more.
    });
  }
}

function certificateOf({ own }: Credentials): { cert: string; key: string } {
  invariant(own !== undefined, 'a server has a certificate');
  return { cert: own.certPem, key: own.keyPem };
}

function wordsOf(error: unknown): string {
  const text = errorText(error);
  return text.includes('EADDRINUSE') ? 'address already in use' : text;
}
