import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import path from 'node:path';
import type { Duplex } from 'node:stream';
import grpc from '@grpc/grpc-js';
import { bytesMessage } from '../../../api/buildkit/proto/common.ts';
import {
  credentialsResponse,
  finalizeExportRequest,
  findExportersRequest,
  findExportersResponse,
  packet,
  PACKET,
} from '../../../api/buildkit/proto/session.ts';
import { checkPolicyRequest, checkPolicyResponse } from '../../../api/buildkit/proto/sources.ts';
import type { Sparse, ValueOf } from '../../../daemon/base/wire/protobuf.ts';
import { ClientSession } from '../../../api/buildkit/session/client-session.ts';
import { silentLogger } from '../../../daemon/base/logger.ts';

export type Packet = ValueOf<typeof packet>;

/** A file as a client would list it; content undefined = it is no regular file. */
export interface ListedFile {
  stat: Sparse<NonNullable<Packet['stat']>>;
  content?: Buffer;
}

/** Something that the client was sent. */
export interface Sent {
  stat: NonNullable<Packet['stat']>;
  content: Buffer;
}

const same = (bytes: Buffer): Buffer => bytes;

export const METHODS = [
  '/moby.filesync.v1.FileSync/DiffCopy',
  '/moby.filesync.v1.FileSend/DiffCopy',
  '/moby.filesync.v1.auth/credentials',
  '/moby.buildkit.secrets.v1.Secrets/GetSecret',
  '/moby.upload.v1.Upload/Pull',
  '/grpc.health.v1.Health/Check',
  '/moby.buildkit.v1.sourcepolicy.policysession.PolicyVerifier/CheckPolicy',
  '/moby.exporter.v1.Exporter/FindExporters',
  '/moby.exporter.v1.Exporter/FinalizeExport',
];

/** A client's session, served by grpc-js, and our end of it. */
export class SessionServer implements AsyncDisposable {
  /** Metadata of each DiffCopy, and the paths that were asked for in it. */
  readonly copies: { metadata: grpc.Metadata; asked: string[] }[] = [];
  /** What the next DiffCopy sends. */
  list: ListedFile[] = [];
  /** Directories that it does not offer. */
  readonly lacks = new Set<string>();
  /** What was sent to this client, and how: files, or one stream. */
  readonly sends: { metadata: grpc.Metadata; listed: Sent[]; bytes: Buffer }[] = [];
  takes: 'files' | 'bytes' = 'bytes';
  /** At every registry. */
  account = { username: 'me', secret: 'pw' };
  /** What its policy says of sources. */
  policy:
    | ((asked: ValueOf<typeof checkPolicyRequest>) => Parameters<typeof checkPolicyResponse.encode>[0])
    | undefined;
  /** Outputs that it names when something is made; undefined = it has nobody to say. */
  further: Parameters<typeof findExportersResponse.encode>[0]['exporters'] | undefined;
  /** What it was told then, and when all were done. */
  readonly found: ValueOf<typeof findExportersRequest>[] = [];
  readonly finalized: ReadonlyMap<string, string>[] = [];
  /** Streams by their names: each is sent once, with an exclamation mark behind it. */
  readonly uploads = new Map<string, Buffer>();
  /** In place of one who takes all. */
  refuses: ((call: grpc.ServerDuplexStream<Buffer, Buffer>) => void) | undefined;
  /** In place of an honest sender. */
  hostile: ((call: grpc.ServerDuplexStream<Buffer, Buffer>) => void) | undefined;
  readonly #server = new grpc.Server();
  readonly #sockets: Socket[] = [];
  readonly #socketPath: string;

  constructor(folder: string) {
    this.#socketPath = path.join(folder, 'session.sock');
    this.#server.addService(
      {
        DiffCopy: definition('/moby.filesync.v1.FileSync/DiffCopy', true),
        Send: definition('/moby.filesync.v1.FileSend/DiffCopy', true),
        Check: definition('/grpc.health.v1.Health/Check', false),
        Credentials: definition('/moby.filesync.v1.Auth/Credentials', false),
        GetSecret: definition('/moby.buildkit.secrets.v1.Secrets/GetSecret', false),
        Pull: definition('/moby.upload.v1.Upload/Pull', true),
        CheckPolicy: definition(
          '/moby.buildkit.v1.sourcepolicy.policysession.PolicyVerifier/CheckPolicy',
          false,
        ),
        FindExporters: definition('/moby.exporter.v1.Exporter/FindExporters', false),
        FinalizeExport: definition('/moby.exporter.v1.Exporter/FinalizeExport', false),
      },
      {
        DiffCopy: (call: grpc.ServerDuplexStream<Buffer, Buffer>) => this.#diffCopy(call),
        Send: (call: grpc.ServerDuplexStream<Buffer, Buffer>) => this.#send(call),
        Check: answer(() => Buffer.from('0801', 'hex')),
        Credentials: answer((request) => {
          const { account } = this;
          return credentialsResponse.encode(
            request.includes('token.example') ? { secret: 'idtokn' } : account,
          );
        }),
        GetSecret: answer((request) => {
          const text = request.includes('text') ? Buffer.from('hidden') : undefined;
          const data = request.includes('known') ? Buffer.from([1, 0, 255]) : text;
          return data && bytesMessage.encode({ data });
        }),
        CheckPolicy: answer((request) => {
          const said = this.policy?.(checkPolicyRequest.decode(request));
          return said && checkPolicyResponse.encode(said);
        }),
        FindExporters: answer((request) => {
          this.found.push(findExportersRequest.decode(request));
          return this.further && findExportersResponse.encode({ exporters: this.further });
        }, grpc.status.UNAVAILABLE),
        FinalizeExport: answer((request) => {
          this.finalized.push(finalizeExportRequest.decode(request).exporterResponse);
          return Buffer.alloc(0);
        }),
        Pull: (call: grpc.ServerDuplexStream<Buffer, Buffer>) => {
          const from = String(call.metadata.get('urlpath')).replace(/^\//, '');
          const bytes = this.uploads.get(from);
          // As BuildKit's clients: a stream is there once.
          this.uploads.delete(from);
          if (bytes === undefined) {
            const details = `no http response from session for ${from}`;
            call.emit('error', { code: grpc.status.UNKNOWN, details });
            return;
          }
          call.write(bytesMessage.encode({ data: bytes }));
          call.write(bytesMessage.encode({ data: Buffer.from('!') }));
          call.end();
        },
      },
    );
  }

  async open(sharedKey = 'key'): Promise<ClientSession> {
    const socket = await this.connect();
    return new ClientSession(socket, { id: 'one', sharedKey, methods: METHODS }, silentLogger);
  }

  /** Serves a daemon on a connection that was upgraded to a session. */
  async serve(connection: Duplex): Promise<void> {
    const socket = await this.connect();
    connection.pipe(socket).pipe(connection);
    for (const one of [connection, socket]) {
      one.on('error', () => undefined /* the other end has gone: so has the session */);
    }
  }

  /** A connection on which this client answers calls. */
  async connect(): Promise<Socket> {
    if (this.#sockets.length === 0) {
      await new Promise<void>((resolve, reject) => {
        const credentials = grpc.ServerCredentials.createInsecure();
        this.#server.bindAsync(`unix:${this.#socketPath}`, credentials, (error) =>
          error === null ? resolve() : reject(error),
        );
      });
    }
    const socket = connect(this.#socketPath);
    this.#sockets.push(socket);
    await once(socket, 'connect');
    return socket;
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#server.forceShutdown();
    this.#sockets.forEach((socket) => socket.destroy());
    return Promise.resolve();
  }

  #send(call: grpc.ServerDuplexStream<Buffer, Buffer>): void {
    if (this.refuses !== undefined) {
      this.refuses(call);
      return;
    }
    const send = { metadata: call.metadata, listed: [] as Sent[], bytes: Buffer.alloc(0) };
    this.sends.push(send);
    const wanted = new Set<number>();
    let isListed = false;
    const finish = (): void => {
      if (isListed && wanted.size === 0) {
        call.write(packet.encode({ type: PACKET.fin }));
      }
    };
    call.on('data', (bytes: Buffer) => {
      if (this.takes === 'bytes') {
        send.bytes = Buffer.concat([send.bytes, bytesMessage.decode(bytes).data]);
        return;
      }
      const { type, stat, id, data } = packet.decode(bytes);
      if (type === PACKET.data) {
        const file = send.listed[id];
        if (file === undefined || !wanted.has(id)) {
          throw new Error(`content of number ${id}`);
        }
        file.content = Buffer.concat([file.content, data]);
        if (data.length === 0) {
          wanted.delete(id);
          finish();
        }
      } else if (type === PACKET.stat && stat !== undefined) {
        // Types of a mode as Go has it; a further name of a file has no content.
        if (stat.mode <= 0xff_ffff && stat.linkName.length === 0) {
          wanted.add(send.listed.length);
          call.write(packet.encode({ type: PACKET.request, id: send.listed.length }));
        }
        send.listed.push({ stat, content: Buffer.alloc(0) });
      } else if (type === PACKET.stat) {
        isListed = true;
        finish();
      }
    });
    call.on('end', () => call.end());
  }

  #diffCopy(call: grpc.ServerDuplexStream<Buffer, Buffer>): void {
    const directory = String(call.metadata.get('dir-name'));
    if (this.lacks.has(directory)) {
      const details = `no access allowed to dir "${directory}"`;
      call.emit('error', { code: grpc.status.NOT_FOUND, details });
      return;
    }
    if (this.hostile !== undefined) {
      this.hostile(call);
      return;
    }
    const { list } = this;
    const asked: string[] = [];
    this.copies.push({ metadata: call.metadata, asked });
    for (const { stat } of list) {
      call.write(packet.encode({ type: PACKET.stat, stat }));
    }
    call.write(Buffer.alloc(0));
    call.on('data', (bytes: Buffer) => {
      const { type, id } = packet.decode(bytes);
      if (type === PACKET.fin) {
        call.write(packet.encode({ type: PACKET.fin }));
        return;
      }
      const file = list[id];
      asked.push(String(file?.stat.path));
      const content = file?.content ?? Buffer.alloc(0);
      for (let at = 0; at < content.length; at += 32_768) {
        call.write(packet.encode({ type: PACKET.data, id, data: content.subarray(at, at + 32_768) }));
      }
      call.write(packet.encode({ type: PACKET.data, id }));
    });
    call.on('end', () => call.end());
  }
}

function definition(path_: string, stream: boolean): grpc.MethodDefinition<Buffer, Buffer> {
  return {
    path: path_,
    requestStream: stream,
    responseStream: stream,
    requestSerialize: same,
    requestDeserialize: same,
    responseSerialize: same,
    responseDeserialize: same,
  };
}

function answer(
  of: (request: Buffer) => Buffer | undefined,
  code = grpc.status.NOT_FOUND,
): grpc.handleUnaryCall<Buffer, Buffer> {
  return ({ request }, done) => {
    const bytes = of(request);
    if (bytes === undefined) {
      done({ code, details: 'no such secret' });
    } else {
      done(null, bytes);
    }
  };
}
