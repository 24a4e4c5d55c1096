import type { BuildkitPort } from '../../types/build/ports.ts';
import { resolveSourceRequest, resolveSourceResponse } from '../proto/sources.ts';
import type { RpcMethod } from '../rpc/server.ts';
import { buildOf } from './build-id.ts';
import { asBuild } from './errors.ts';
import { unary } from './method.ts';
import { answerMessage, questionOf } from './source-question.ts';

/** What a frontend asks of sources beside their files. */
export function sourceMethods(port: BuildkitPort): [string, RpcMethod][] {
  return [
    [
      'ResolveSourceMeta',
      unary(resolveSourceRequest, resolveSourceResponse, async (request, { metadata, signal }) => {
        const question = questionOf(request);
        const found = await asBuild(port.resolveSource(buildOf(metadata), question, signal));
        return answerMessage(found);
      }),
    ],
  ];
}
