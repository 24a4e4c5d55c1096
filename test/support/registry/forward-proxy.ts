/** An HTTP proxy as networks have them: passes requests for whole addresses on, and makes tunnels. */
import { createServer, request as forward } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Certificate } from './web.ts';

export interface ForwardProxyOptions {
  /** Where it listens; loopback by default. */
  address?: string;
  /** 0 = one that is free. */
  port?: number;
  /** With it clients reach the proxy by TLS. */
  tls?: Certificate;
  /** `user:password` that clients have to bring. */
  account?: string;
  /** `host:port` that clients name -> where that really is. Other addresses are connected to as they are. */
  routes?: Readonly<Record<string, string>>;
}

/** Some clients send credentials only when they are asked. */
const CHALLENGE = { 'Proxy-Authenticate': 'Basic realm="proxy"' };

export class ForwardProxy implements AsyncDisposable {
  readonly #options: ForwardProxyOptions;
  readonly #server: Server;
  readonly #sockets = new Set<Duplex>();
  /** `CONNECT host:port`, or method and address of a request that it read. */
  readonly seen: string[] = [];
  /** Says no with this status, before anything is asked. */
  refuses: number | undefined;
  /** Does not answer. */
  isMute = false;

  static async start(options: ForwardProxyOptions = {}): Promise<ForwardProxy> {
    const proxy = new ForwardProxy(options);
    await new Promise<void>((resolve) => {
      proxy.#server.listen(options.port ?? 0, options.address ?? '127.0.0.1', resolve);
    });
    return proxy;
  }

  private constructor(options: ForwardProxyOptions) {
    this.#options = options;
    const answer = (incoming: IncomingMessage, response: ServerResponse): void =>
      this.#forward(incoming, response);
    this.#server = options.tls === undefined ? createServer(answer) : createTlsServer(options.tls, answer);
    this.#server.on('connect', (request: IncomingMessage, socket: Duplex, first: Buffer) =>
      this.#tunnel(request, socket, first),
    );
    for (const event of ['connection', 'secureConnection']) {
      this.#server.on(event, (socket: Socket) => this.#keep(socket));
    }
  }

  get host(): string {
    // A server that listens on an address has one.
    return `${this.#options.address ?? '127.0.0.1'}:${(this.#server.address() as AddressInfo).port}`;
  }

  /** With the account in it, as administrators write it. */
  get url(): string {
    const { tls, account } = this.#options;
    return `${tls ? 'https' : 'http'}://${account === undefined ? '' : `${account}@`}${this.host}`;
  }

  reset(): void {
    this.seen.length = 0;
    this.refuses = undefined;
    this.isMute = false;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#sockets.forEach((socket) => socket.destroy());
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }

  #keep(socket: Duplex): void {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    // A client that leaves without a word is no error of the proxy's.
    socket.on('error', () => socket.destroy());
  }

  /** The status to say no with; undefined = it serves. */
  #refusal({ headers }: IncomingMessage): number | undefined {
    const { account } = this.#options;
    const right = account && `Basic ${Buffer.from(account).toString('base64')}`;
    return this.refuses ?? (headers['proxy-authorization'] === right || !right ? undefined : 407);
  }

  #forward(incoming: IncomingMessage, response: ServerResponse): void {
    const { method = '', url = '', headers } = incoming;
    this.seen.push(`${method} ${url}`);
    const refusal = this.#refusal(incoming);
    if (this.isMute) {
      return;
    }
    if (refusal !== undefined || !URL.canParse(url)) {
      response.writeHead(refusal ?? 400, CHALLENGE).end('the proxy says no\n');
      return;
    }
    const { host, pathname, search } = new URL(url);
    const { 'proxy-authorization': _own, ...passed } = headers;
    const outgoing = forward({
      ...this.#defaultRoute(host, '80'),
      method,
      path: pathname + search,
      headers: passed,
    });
    outgoing.on('error', () => response.destroy());
    outgoing.once('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    response.on('close', () => outgoing.destroy());
    incoming.pipe(outgoing);
  }

  #tunnel(request: IncomingMessage, client: Duplex, first: Buffer): void {
    const { url: target = '' } = request;
    this.seen.push(`CONNECT ${target}`);
    const refusal = this.#refusal(request);
    if (this.isMute) {
      return;
    }
    if (refusal !== undefined) {
      const challenge = Object.entries(CHALLENGE).map(([name, value]) => `${name}: ${value}\r\n`);
      client.end(
        `HTTP/1.1 ${refusal} No\r\n${challenge.join('')}Content-Length: 18\r\n\r\nthe proxy says no\n`,
      );
      return;
    }
    const server = connect(this.#defaultRoute(target, '443'), () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      server.write(first);
      server.pipe(client).pipe(server);
    });
    this.#keep(server);
    server.once('close', () => client.destroy());
    client.once('close', () => server.destroy());
  }

  #defaultRoute(target: string, port: string): { host: string; port: number } {
    const defaultRoute = new URL(`http://${this.#options.routes?.[target] ?? target}`);
    return { host: defaultRoute.hostname, port: Number(defaultRoute.port || port) };
  }
}
