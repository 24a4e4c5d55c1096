import { EngineError, isEngineError } from '../../../daemon/base/errors.ts';
import { limits } from '../../../daemon/base/limits.ts';
import type { ClientContent } from '../../types/build/session.ts';
import {
  contentInfoResponse,
  infoRequest,
  readContentRequest,
  readContentResponse,
  WRITE,
  writeContentRequest,
  writeContentResponse,
} from '../proto/content.ts';
import type { RpcClient, RpcConversation } from '../rpc/client.ts';

const SERVICE = '/containerd.services.content.v1.Content';

/** Each is needed for content to be read and written. */
export const CONTENT_METHODS = ['Info', 'Read', 'Write'].map((method) => `${SERVICE}/${method}`);

/** A content store of a client's, one of several that it offers: `local:/some/cache`. */
export function openContent(client: RpcClient, store: string): ClientContent {
  const metadata = new Map([['buildkit-attachable-store-id', [store]]]);
  return {
    size: async (digest, signal) => {
      const options = { signal, metadata, timeoutMs: limits.sessionAnswerMs };
      try {
        const answer = await client.unary(`${SERVICE}/Info`, infoRequest.encode({ digest }), options);
        return contentInfoResponse.decode(answer).info?.size;
      } catch (error) {
        if (isEngineError(error, 'not_found')) {
          return undefined;
        }
        throw error;
      }
    },
    read: (digest, offset, signal) => read(client, { digest, offset }, { signal, metadata }),
    write: async (blob, content, signal) => {
      await using call = client.call(`${SERVICE}/Write`, { signal, metadata });
      await write(call, blob, content);
    },
  };
}

async function* read(
  client: RpcClient,
  blob: { digest: string; offset: number },
  options: { signal: AbortSignal; metadata: ReadonlyMap<string, readonly string[]> },
): AsyncGenerator<Buffer> {
  await using call = client.call(`${SERVICE}/Read`, options);
  await call.send(readContentRequest.encode(blob));
  call.end();
  for await (const messages of call.batches) {
    yield* messages.map((message) => readContentResponse.decode(message).data);
  }
}

/** Piece by piece, each answered before the next. */
async function write(
  call: RpcConversation,
  { digest, size }: { digest: string; size: number },
  content: AsyncIterable<Buffer>,
): Promise<void> {
  const answers = call.batches[Symbol.asyncIterator]();
  const facts = { ref: `berth-${digest}`, total: size, expected: digest };
  let offset = 0;
  const send = async (action: number, data?: Buffer): Promise<number | undefined> => {
    await call.send(writeContentRequest.encode({ action, ...facts, offset, ...(data && { data }) }));
    const { value, done } = await answers.next();
    if (done === true) {
      return undefined;
    }
    return value.map((answer) => writeContentResponse.decode(answer).offset).at(-1);
  };
  try {
    // What an earlier build has begun is begun anew.
    await send(WRITE.stat);
    for await (const piece of content) {
      offset = await sent(send(WRITE.write, piece), { digest, wanted: offset + piece.length });
    }
    await send(WRITE.commit);
    call.end();
  } catch (error) {
    // Another build has written the same meanwhile.
    if (!isEngineError(error, 'conflict')) {
      throw error;
    }
  }
}

async function sent(
  answer: Promise<number | undefined>,
  { digest, wanted }: { digest: string; wanted: number },
): Promise<number> {
  const offset = await answer;
  if (offset !== wanted) {
    throw new EngineError('remote', `${digest}: the client has ${offset ?? 'no'} of ${wanted} bytes`);
  }
  return offset;
}
