import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import grpc from '@grpc/grpc-js';
import { solveRequest, solveResponse } from '../../../api/buildkit/proto/control.ts';
import { METHODS, type SessionServer } from './session-server.ts';

export interface AskedOutput {
  type: string;
  attrs?: Record<string, string>;
}

const same = (bytes: Buffer): Buffer => bytes;

/** A client that asks for all that BuildKit's protocol has: a session on one connection, calls on another. */
export class ControlClient implements Disposable {
  readonly #client: grpc.Client;
  readonly #socketPath: string;
  readonly #sockets: Socket[] = [];

  constructor(socketPath: string) {
    this.#socketPath = socketPath;
    this.#client = new grpc.Client(`unix:${socketPath}`, grpc.credentials.createInsecure());
  }

  /** Builds the Dockerfile that the session's list has; answers what the exporters told. */
  async build(
    server: SessionServer,
    outputs: readonly AskedOutput[],
    options: Record<string, string> = {},
    more: Partial<Parameters<typeof solveRequest.encode>[0]> = {},
  ): Promise<ReadonlyMap<string, string>> {
    // Another client of this process may have ended a moment ago: an id is never used again.
    const session = `session-${randomUUID()}`;
    const socket = await this.#openSession(session, server);
    const exporters = outputs.map(({ type, attrs = {} }) => ({
      type,
      attrs: new Map(Object.entries(attrs)),
    }));
    const frontendAttrs = new Map(Object.entries(options));
    const request = { ref: session, session, frontend: 'dockerfile.v0', frontendAttrs, exporters, ...more };
    try {
      const answer = await this.call('/moby.buildkit.v1.Control/Solve', solveRequest.encode(request));
      return solveResponse.decode(answer).exporterResponse;
    } finally {
      socket.destroy();
    }
  }

  /** One question, one answer. */
  async call(method: string, request: Buffer): Promise<Buffer> {
    return await new Promise((resolve, reject) => {
      this.#client.makeUnaryRequest(method, same, same, request, (error, answer = Buffer.alloc(0)) => {
        if (error === null) {
          resolve(answer);
        } else {
          reject(error);
        }
      });
    });
  }

  /** One question, answers as they come. */
  stream(method: string, request: Buffer): grpc.ClientReadableStream<Buffer> {
    return this.#client.makeServerStreamRequest(method, same, same, request);
  }

  [Symbol.dispose](): void {
    this.#client.close();
    this.#sockets.forEach((socket) => socket.destroy());
  }

  async #openSession(id: string, server: SessionServer): Promise<Socket> {
    const socket = connect(this.#socketPath);
    const ours = await server.connect();
    this.#sockets.push(socket);
    const head = [
      'POST /session HTTP/1.1',
      'Host: docker',
      'Connection: Upgrade',
      'Upgrade: h2c',
      `X-Docker-Expose-Session-Uuid: ${id}`,
      'X-Docker-Expose-Session-Name: test',
      `X-Docker-Expose-Session-Sharedkey: ${id}`,
      ...METHODS.map((method) => `X-Docker-Expose-Session-Grpc-Method: ${method}`),
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n`);
    let read = Buffer.alloc(0);
    while (!read.includes('\r\n\r\n')) {
      const [chunk] = (await once(socket, 'data')) as [Buffer];
      read = Buffer.concat([read, chunk]);
    }
    socket.pause();
    const rest = read.subarray(read.indexOf('\r\n\r\n') + 4);
    ours.write(rest);
    socket.pipe(ours).pipe(socket);
    return socket;
  }
}
