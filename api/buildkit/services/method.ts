import { invalidArgument } from '../../../daemon/base/errors.ts';
import type { Message, Sparse } from '../../../daemon/base/wire/protobuf.ts';
import type { RpcCall, RpcMethod } from '../rpc/server.ts';

export type CallFacts = Pick<RpcCall, 'metadata' | 'signal' | 'sendHead'>;

/** An answer that is encoded already. */
export const asItIs: Pick<Message<Buffer>, 'encode'> = { encode: (bytes) => bytes };

/** One question, one answer. */
export function unary<Q, A>(
  request: Message<Q>,
  answer: Message<A>,
  handle: (request: Q, call: CallFacts) => Promise<Sparse<A>>,
): RpcMethod {
  return async (call) => {
    const asked = await onlyMessage(call, request);
    await call.send(answer.encode(await handle(asked, call)));
  };
}

/** One question, answers as they come. */
export function streaming<Q, A>(
  request: Message<Q>,
  answer: Pick<Message<A>, 'encode'>,
  handle: (request: Q, call: CallFacts) => AsyncIterable<Sparse<A>>,
): RpcMethod {
  return async (call) => {
    const asked = await onlyMessage(call, request);
    for await (const each of handle(asked, call)) {
      await call.send(answer.encode(each));
    }
  };
}

async function onlyMessage<Q>({ messages }: RpcCall, request: Message<Q>): Promise<Q> {
  for await (const bytes of messages) {
    try {
      return request.decode(bytes);
    } catch (error) {
      throw invalidArgument('the request cannot be read', { cause: error });
    }
  }
  throw invalidArgument('the request is missing');
}
