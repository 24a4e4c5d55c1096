import { EngineError, invalidArgument } from '../../../daemon/base/errors.ts';
import type { FilePacket, FilesRequest, FileTransfer, SentStat } from '../../types/build/session.ts';
import { PACKET, packet, type StatMessage } from '../proto/session.ts';
import type { RpcClient, RpcConversation } from '../rpc/client.ts';
import { deviceOf, permissionsOf, typeOf } from './go-mode.ts';

const DIFF_COPY = '/moby.filesync.v1.FileSync/DiffCopy';

/** DiffCopy of fsutil: the client sends a list, we ask for files of it by their numbers. */
export function openFiles(client: RpcClient, request: FilesRequest, signal: AbortSignal): FileTransfer {
  const call = client.call(DIFF_COPY, { signal, metadata: metadataOf(request) });
  return {
    packets: packetsOf(call),
    request: (ids) => call.send(...ids.map((id) => packet.encode({ type: PACKET.request, id }))),
    finish: () => call.send(packet.encode({ type: PACKET.fin })),
    [Symbol.asyncDispose]: () => call[Symbol.asyncDispose](),
  };
}

/** Values that are not ASCII are escaped, all of a key when one of them is. */
function metadataOf(request: FilesRequest): Map<string, readonly string[]> {
  const metadata = new Map<string, readonly string[]>();
  const add = (key: string, values: readonly string[]): void => {
    if (values.every((value) => /^[\x20-\x7e]*$/.test(value))) {
      metadata.set(key, values);
      return;
    }
    metadata.set(
      key,
      // As a form's field: a blank is a plus.
      values.map((value) => encodeURIComponent(value).replaceAll('%20', '+')),
    );
    metadata.set(`${key}-encoded`, ['1']);
  };
  add('dir-name', [request.directory]);
  add('include-patterns', request.includePatterns);
  add('exclude-patterns', request.excludePatterns);
  add('followpaths', request.followPaths);
  return new Map([...metadata].filter(([, values]) => values.length > 0));
}

async function* packetsOf(call: RpcConversation): AsyncGenerator<readonly FilePacket[]> {
  for await (const messages of call.batches) {
    const packets = messages.map((bytes) => packetOf(bytes));
    yield packets;
    if (packets.some(({ kind }) => kind === 'finished')) {
      call.end();
    }
  }
}

function packetOf(encoded: Buffer): FilePacket {
  const { type, stat, id, data } = decoded(encoded);
  switch (type) {
    case PACKET.stat:
      return stat === undefined ? { kind: 'listed' } : { kind: 'stat', stat: statOf(stat) };
    case PACKET.data:
      return { kind: 'data', id, bytes: data };
    case PACKET.fin:
      return { kind: 'finished' };
    case PACKET.error:
      throw new EngineError('remote', `the client could not send its files: ${data.toString()}`);
    default:
      throw invalidArgument(`the client's files: a packet of type ${type}`);
  }
}

function decoded(encoded: Buffer): ReturnType<typeof packet.decode> {
  try {
    return packet.decode(encoded);
  } catch (error) {
    throw invalidArgument("the client's files: a packet that cannot be read", { cause: error });
  }
}

function statOf(stat: StatMessage): SentStat {
  const type = typeOf(stat.mode);
  const sent: SentStat = {
    path: stat.path.toString('latin1'),
    type,
    mode: permissionsOf(stat.mode),
    uid: stat.uid,
    gid: stat.gid,
    size: stat.size,
    mtime: stat.modTime,
    linkName: stat.linkName.toString('latin1'),
    attributes: stat.xattrs,
  };
  if (type === 'device') {
    sent.device = { kind: deviceOf(stat.mode), major: stat.devMajor, minor: stat.devMinor };
  }
  return sent;
}
