/** A reverse proxy that spoils what passes, as a test tells it to. */
import { createServer, request as forward } from 'node:http';
import type { IncomingMessage, OutgoingHttpHeaders, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Transform } from 'node:stream';

/** What happens to one exchange instead of plain forwarding. */
export type Fault =
  /** An answer of the proxy's own. */
  | { kind: 'answer'; status: number; headers?: OutgoingHttpHeaders; body?: string | Buffer }
  /** The connection is reset before an answer. */
  | { kind: 'reset' }
  /** The connection is reset after so many bytes of the answer's body. */
  | { kind: 'cut'; bytes: number }
  /** A byte of the answer's body is another one. */
  | { kind: 'corrupt' }
  /** The connection is reset after so many bytes of the request's body have been forwarded. */
  | { kind: 'cut request'; bytes: number }
  /** The answer waits until the promise resolves. */
  | { kind: 'hold'; until: Promise<void> };

export interface SeenRequest {
  method: string;
  path: string;
  authorization: string | undefined;
  range: string | undefined;
}

/** Decides for one request; `nth` counts the requests of the same method and path, from 1. */
export type FaultPlan = (request: SeenRequest, nth: number) => Fault | undefined;

export class FaultProxy implements AsyncDisposable {
  readonly #server: Server;
  readonly #upstream: string;
  readonly #counts = new Map<string, number>();
  /** All requests, oldest first. */
  readonly seen: SeenRequest[] = [];
  plan: FaultPlan = () => undefined;

  /** In front of `upstream` (`127.0.0.1:5000`), on a port of its own on loopback. */
  static async start(upstream: string): Promise<FaultProxy> {
    const proxy = new FaultProxy(upstream);
    await new Promise<void>((resolve) => {
      proxy.#server.listen(0, '127.0.0.1', resolve);
    });
    return proxy;
  }

  private constructor(upstream: string) {
    this.#upstream = upstream;
    this.#server = createServer((incoming, response) => this.#serve(incoming, response));
  }

  get address(): string {
    // A server that listens on an address has one.
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Forgets plan and requests. */
  reset(): void {
    this.plan = () => undefined;
    this.seen.length = 0;
    this.#counts.clear();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }

  #serve(incoming: IncomingMessage, response: ServerResponse): void {
    const { method = '', url = '/', headers } = incoming;
    const { authorization, range } = headers;
    const request = { method, path: url, authorization, range };
    this.seen.push(request);
    const key = `${method} ${url}`;
    const nth = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, nth);
    const fault = this.plan(request, nth);
    incoming.on('error', () => response.destroy());
    if (fault?.kind === 'answer') {
      incoming.resume();
      const body = fault.body ?? '';
      response.writeHead(fault.status, { 'content-length': Buffer.byteLength(body), ...fault.headers });
      response.end(body);
    } else if (fault?.kind === 'reset') {
      incoming.socket.resetAndDestroy();
    } else if (fault?.kind === 'hold') {
      void fault.until.then(() => this.#forward(incoming, response, undefined));
    } else {
      this.#forward(incoming, response, fault);
    }
  }

  #forward(incoming: IncomingMessage, response: ServerResponse, fault: Fault | undefined): void {
    const { method, url, headers } = incoming;
    const [host = '', port = ''] = this.#upstream.split(':');
    const outgoing = forward({ host, port, method, path: url, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.on('error', () => response.destroy());
      if (fault?.kind === 'cut') {
        answer.pipe(afterBytes(fault.bytes, () => incoming.socket.resetAndDestroy())).pipe(response);
      } else if (fault?.kind === 'corrupt') {
        answer.pipe(corrupted()).pipe(response);
      } else {
        answer.pipe(response);
      }
    });
    outgoing.on('error', () => response.destroy());
    response.on('close', () => outgoing.destroy());
    if (fault?.kind === 'cut request') {
      incoming.pipe(afterBytes(fault.bytes, () => incoming.socket.resetAndDestroy())).pipe(outgoing);
    } else {
      incoming.pipe(outgoing);
    }
  }
}

function afterBytes(bytes: number, act: () => void): Transform {
  let left = bytes;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const passed = chunk.subarray(0, left);
      left -= passed.length;
      done(null, passed);
      if (left === 0) {
        left = -1;
        // What has passed gets a moment to arrive.
        setTimeout(act, 20);
      }
    },
  });
}

function corrupted(): Transform {
  let isFirst = true;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const copy = Buffer.from(chunk);
      if (isFirst && copy.length > 0) {
        copy[copy.length - 1] = (copy.at(-1) ?? 0) ^ 0xff;
        isFirst = false;
      }
      done(null, copy);
    },
  });
}
