import type { HistoryPort } from '../../types/build/history.ts';
import { invalidArgument } from '../../../daemon/base/errors.ts';
import {
  contentInfoResponse,
  infoRequest,
  readContentRequest,
  readContentResponse,
} from '../proto/content.ts';
import type { RpcMethod } from '../rpc/server.ts';
import { streaming, unary } from './method.ts';

/** Bytes of one message: as containerd sends them. */
const PIECE = 32 * 1024;

/** `containerd.services.content.v1.Content`, of what belongs to the history of builds and nothing else. */
export function contentMethods(history: HistoryPort): [string, RpcMethod][] {
  const methods: [string, RpcMethod][] = [
    [
      'Info',
      unary(infoRequest, contentInfoResponse, ({ digest }) =>
        Promise.resolve({ info: { digest, size: history.blobBytes(digest) } }),
      ),
    ],
    [
      'Read',
      streaming(readContentRequest, readContentResponse, async function* ({ digest, offset, size }) {
        const content = await history.blob(digest);
        if (offset < 0 || offset > content.length || size < 0) {
          throw invalidArgument(`${digest} has ${content.length} bytes: none from ${offset} on`);
        }
        const end = size === 0 ? content.length : Math.min(offset + size, content.length);
        for (let at = offset; at < end; at += PIECE) {
          yield { offset: at, data: content.subarray(at, Math.min(at + PIECE, end)) };
        }
      }),
    ],
  ];
  return methods.map(([name, method]) => [`/containerd.services.content.v1.Content/${name}`, method]);
}
