import { EngineError, invalidArgument, isEngineError, unreachable } from '../../../daemon/base/errors.ts';
import { limits } from '../../../daemon/base/limits.ts';
import type {
  FileQuestion,
  FileSending,
  GivenPacket,
  SentStat,
  SendTarget,
} from '../../types/build/session.ts';
import { bytesMessage } from '../proto/common.ts';
import { PACKET, packet } from '../proto/session.ts';
import type { RpcClient, RpcConversation } from '../rpc/client.ts';
import { goMode } from './go-mode.ts';

const DIFF_COPY = '/moby.filesync.v1.FileSend/DiffCopy';
/** Room for what a message has besides its bytes. */
const MESSAGE_HEAD_BYTES = 1024;

/** FileSend with a stream: a tarball. Resolves when the client has put all of it where it belongs. */
export async function sendBytes(
  client: RpcClient,
  target: SendTarget,
  bytes: AsyncIterable<Buffer>,
  signal: AbortSignal,
): Promise<void> {
  await using call = client.call(DIFF_COPY, { signal, metadata: metadataOf(target) });
  const ended = drained(call);
  // Awaited below.
  ended.catch(() => undefined /* see above */);
  const room = limits.sessionMessageBytesMax - MESSAGE_HEAD_BYTES;
  try {
    for await (const piece of bytes) {
      for (let at = 0; at < piece.length; at += room) {
        await call.send(bytesMessage.encode({ data: piece.subarray(at, at + room) }));
      }
    }
  } catch (error) {
    if (isEngineError(error, 'canceled')) {
      // Why the client takes no more is in its status.
      await ended;
    }
    throw error;
  }
  call.end();
  await ended;
}

async function drained({ batches }: RpcConversation): Promise<void> {
  for await (const _ of batches) {
    // A client answers nothing but how it ended.
  }
}

/** FileSend with files: we send a list, the client asks for files of it by their numbers. */
export function openSending(client: RpcClient, target: SendTarget, signal: AbortSignal): FileSending {
  const call = client.call(DIFF_COPY, { signal, metadata: metadataOf(target) });
  return {
    questions: questionsOf(call),
    send: (packets) => call.send(...packets.map((each) => encoded(each))),
    end: () => call.end(),
    [Symbol.asyncDispose]: () => call[Symbol.asyncDispose](),
  };
}

function metadataOf({ output, facts }: SendTarget): Map<string, readonly string[]> {
  const told = [...facts].filter(([, value]) => /^[\x20-\x7e]*$/.test(value));
  return new Map([
    ['buildkit-attachable-exporter-id', [String(output)]],
    ...told.map(([name, value]) => [`exporter-md-${name}`, [value]] as const),
  ]);
}

async function* questionsOf({ batches }: RpcConversation): AsyncGenerator<readonly FileQuestion[]> {
  for await (const messages of batches) {
    yield messages.map((bytes) => questionOf(bytes));
  }
}

function questionOf(bytes: Buffer): FileQuestion {
  let read: ReturnType<typeof packet.decode>;
  try {
    read = packet.decode(bytes);
  } catch (error) {
    throw invalidArgument('files for the client: a packet that cannot be read', { cause: error });
  }
  const { type, id, data } = read;
  switch (type) {
    case PACKET.request:
      return { kind: 'wanted', id };
    case PACKET.fin:
      return { kind: 'finished' };
    case PACKET.error:
      throw new EngineError('remote', `the client could not write the files: ${data.toString()}`);
    default:
      throw invalidArgument(`files for the client: a packet of type ${type}`);
  }
}

function encoded(given: GivenPacket): Buffer {
  switch (given.kind) {
    case 'stat':
      return packet.encode({ type: PACKET.stat, stat: statOf(given.stat) });
    case 'listed':
      return packet.encode({ type: PACKET.stat });
    case 'data':
      return packet.encode({ type: PACKET.data, id: given.id, data: given.bytes });
    case 'finished':
      return packet.encode({ type: PACKET.fin });
    default:
      return unreachable(given);
  }
}

function statOf(stat: SentStat): NonNullable<Parameters<typeof packet.encode>[0]['stat']> {
  const { path, uid, gid, size, mtime, linkName, device, attributes } = stat;
  return {
    path: Buffer.from(path, 'latin1'),
    mode: goMode(stat),
    uid,
    gid,
    size,
    modTime: mtime,
    linkName: Buffer.from(linkName, 'latin1'),
    devMajor: device?.major ?? 0,
    devMinor: device?.minor ?? 0,
    xattrs: new Map(attributes),
  };
}
