import { Duplex } from 'node:stream';
import type { Logger } from '../../../daemon/base/logger.ts';
import type { BuildkitPort } from '../../types/build/ports.ts';
import { bytesMessage } from '../proto/common.ts';
import type { Metadata } from '../rpc/metadata.ts';
import type { RpcCall, RpcMethod } from '../rpc/server.ts';
import { ClientSession, type SessionFacts } from '../session/client-session.ts';

/** `Control/Session`: a session within a call, HTTP/2 again in its messages. */
export function sessionMethods(port: BuildkitPort, log: Logger): [string, RpcMethod][] {
  return [
    [
      '/moby.buildkit.v1.Control/Session',
      async (call) => {
        const facts = factsOf(call.metadata);
        port.refuseSession(facts.id);
        const connection = connectionOf(call);
        const session = new ClientSession(connection, facts, log);
        const end = (): void => session.end();
        call.signal.addEventListener('abort', end, { once: true });
        await port.attachSession(session);
      },
    ],
  ];
}

function factsOf(metadata: Metadata): SessionFacts {
  const first = (name: string): string => metadata.get(`x-docker-expose-session-${name}`)?.[0] ?? '';
  return {
    id: first('uuid'),
    sharedKey: first('sharedkey'),
    methods: metadata.get('x-docker-expose-session-grpc-method') ?? [],
  };
}

/** What the messages of a call carry, as a connection. */
function connectionOf({ messages, send }: RpcCall): Duplex {
  async function* bytes(): AsyncGenerator<Buffer> {
    for await (const message of messages) {
      yield bytesMessage.decode(message).data;
    }
  }
  const source = bytes();
  const connection = new Duplex({
    read: () => {
      source.next().then(
        ({ done, value }) => connection.push(done === true ? null : value),
        (error: Error) => connection.destroy(error),
      );
    },
    write: (chunk: Buffer, _encoding, done) => {
      void pass(send, chunk, done).catch((error: Error) => connection.destroy(error));
    },
  });
  return connection;
}

async function pass(send: RpcCall['send'], data: Buffer, done: (error?: Error) => void): Promise<void> {
  await send(bytesMessage.encode({ data }));
  done();
}
