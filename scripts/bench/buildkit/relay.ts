import { rmSync } from 'node:fs';
import http2 from 'node:http2';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import { FrameScanner } from './frames.ts';
import { Turns, type Shares } from './share.ts';

const SOLVE = '/moby.buildkit.v1.Control/Solve';
const STATUS = '/moby.buildkit.v1.Control/Status';
const RETURN = '/moby.buildkit.v1.frontend.LLBBridge/Return';
const HEAD_END = '\r\n\r\n';

/**
 * A socket between a client of BuildKit and an engine, that tells whose turn it is. Calls on the engine are handed on
 * one by one; the client's own services, to which the engine sends calls, and all else pass as bytes.
 */
export class Relay implements AsyncDisposable {
  readonly path: string;
  readonly #engine: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #turns = new Turns();

  private constructor(path: string, engine: string) {
    this.path = path;
    this.#engine = engine;
    this.#server = createServer((client) => void this.#serve(client));
  }

  static async start(path: string, engine: string): Promise<Relay> {
    const relay = new Relay(path, engine);
    relay.#server.listen(path);
    await once(relay.#server, 'listening');
    return relay;
  }

  /** What has passed since the last time. */
  take(): Shares {
    const shares = this.#turns.shares();
    this.#turns = new Turns();
    return shares;
  }

  async #serve(client: Socket): Promise<void> {
    const engine = connect(this.#engine);
    this.#join(client, engine);
    const [head] = (await once(client, 'data')) as [Buffer];
    client.pause();
    const turns = this.#turns;
    const [, kind] = /^POST \/(?:v[\d.]+\/)?(grpc|session) /.exec(head.toString('latin1', 0, 100)) ?? [];
    turns.engine(1);
    engine.write(head);
    if (kind === undefined) {
      plain(turns, client, engine);
      return;
    }
    let answer = Buffer.alloc(0);
    while (!answer.includes(HEAD_END)) {
      engine.resume();
      const [more] = (await once(engine, 'data')) as [Buffer];
      engine.pause();
      answer = Buffer.concat([answer, more]);
    }
    turns.engine(-1);
    const end = answer.indexOf(HEAD_END) + HEAD_END.length;
    client.write(answer.subarray(0, end));
    engine.unshift(answer.subarray(end));
    if (kind === 'grpc') {
      calls(turns, client, engine);
    } else {
      session(turns, client, engine);
    }
  }

  #join(client: Socket, engine: Socket): void {
    for (const [socket, other] of [
      [client, engine],
      [engine, client],
    ] as const) {
      this.#sockets.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#sockets.forEach((socket) => socket.destroy());
    return new Promise((resolve) => {
      this.#server.close(() => {
        rmSync(this.path, { force: true });
        resolve();
      });
    });
  }
}

/** Requests of HTTP/1.1, the first of which has gone to the engine. */
function plain(turns: Turns, client: Socket, engine: Socket): void {
  let isDue = true;
  const due = (now: boolean): void => {
    if (now !== isDue) {
      isDue = now;
      turns.engine(now ? 1 : -1);
    }
  };
  client.on('data', (chunk: Buffer) => {
    due(true);
    engine.write(chunk);
  });
  engine.on('data', (chunk: Buffer) => {
    due(false);
    client.write(chunk);
  });
  engine.on('close', () => due(false));
  client.resume();
}

/** The engine calls, the client answers: it is the client's turn from each message of a call to what it says to it. */
function session(turns: Turns, client: Socket, engine: Socket): void {
  const open = new Set<number>();
  let isWaiting = false;
  const waits = (now: boolean): void => {
    if (now !== isWaiting) {
      isWaiting = now;
      turns.client(now ? 1 : -1);
    }
  };
  const asked = new FrameScanner(
    ({ stream, begins }) => {
      if (begins) {
        open.add(stream);
      }
      waits(open.size > 0);
    },
    { hasPreface: true },
  );
  const answered = new FrameScanner(
    ({ stream, ends }) => {
      if (ends) {
        open.delete(stream);
      }
      waits(false);
    },
    { hasPreface: false },
  );
  engine.on('data', (chunk: Buffer) => {
    asked.push(chunk);
    client.write(chunk);
  });
  client.on('data', (chunk: Buffer) => {
    answered.push(chunk);
    engine.write(chunk);
  });
  client.on('close', () => waits(false));
  engine.resume();
  client.resume();
}

/** The client calls. The answer to its last word is due; the build itself is under way from then on. */
function calls(turns: Turns, client: Socket, engine: Socket): void {
  const onward = http2.connect('http://localhost', { createConnection: () => engine });
  onward.on('error', () => client.destroy());
  const server = http2.createServer();
  server.on('stream', (stream: http2.ServerHttp2Stream, _headers: object, _flags: number, raw: string[]) => {
    const headers = listed(raw);
    const path = String(headers[':path']);
    const isDue = path !== STATUS && path !== SOLVE;
    if (path === SOLVE) {
      turns.solveBegins();
    }
    // The build is the engine's from here until it is answered.
    const solves = path === RETURN ? 1 : 0;
    if (isDue) {
      turns.engine(1);
    }
    handOn(stream, onward.request(headers), () => {
      if (path === SOLVE) {
        turns.solveEnds();
      }
      if (isDue && solves === 0) {
        turns.engine(-1);
      }
      if (path === SOLVE) {
        turns.engine(-1);
      }
    });
  });
  server.emit('connection', client);
}

function handOn(from: http2.ServerHttp2Stream, to: http2.ClientHttp2Stream, ended: () => void): void {
  let trailers: http2.OutgoingHttpHeaders = {};
  from.pipe(to);
  to.on('response', (headers, flags) => {
    const endStream = (flags & http2.constants.NGHTTP2_FLAG_END_STREAM) !== 0;
    from.respond(headers, endStream ? { endStream } : { waitForTrailers: true });
    if (!endStream) {
      to.pipe(from);
    }
  });
  to.on('trailers', (headers) => (trailers = headers));
  from.on('wantTrailers', () => from.sendTrailers(trailers));
  to.on('close', () => {
    ended();
    if (to.rstCode !== 0) {
      from.close(to.rstCode);
    }
  });
  from.on('close', () => to.close(from.rstCode));
  from.on('error', () => to.close());
  to.on('error', () => from.close());
}

/** What stands there more than once stays apart. */
function listed(raw: readonly string[]): http2.OutgoingHttpHeaders {
  const headers: Record<string, string | string[]> = {};
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] ?? '';
    const value = raw[index + 1] ?? '';
    const before = headers[name];
    headers[name] = before === undefined ? value : [...[before].flat(), value];
  }
  return headers;
}
