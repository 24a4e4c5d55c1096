import type { BuildkitPort } from '../../types/build/ports.ts';
import { empty } from '../proto/common.ts';
import {
  evaluateRequest,
  inputsResponse,
  readDirRequest,
  readDirResponse,
  readFileRequest,
  readFileResponse,
  resolveImageRequest,
  resolveImageResponse,
  statFileRequest,
  statFileResponse,
} from '../proto/gateway.ts';
import type { RpcMethod } from '../rpc/server.ts';
import { buildOf } from './build-id.ts';
import { messageOf } from './definition.ts';
import { asBuild } from './errors.ts';
import { unary } from './method.ts';
import { policyOf } from './source-policy.ts';
import { statMessage } from './stat.ts';

/**
 * What a frontend asks of images and of results that it has had solved. Results are there when `Solve` answers, or have
 * failed by then.
 */
export function resultMethods(port: BuildkitPort): [string, RpcMethod][] {
  return [
    [
      'Inputs',
      unary(empty, inputsResponse, async (_request, { metadata, signal }) => {
        const inputs = await port.inputs(buildOf(metadata), signal);
        return { definitions: new Map([...inputs].map(([name, each]) => [name, messageOf(each)])) };
      }),
    ],
    [
      'ResolveImageConfig',
      unary(resolveImageRequest, resolveImageResponse, async (request, { metadata, signal }) => {
        const { ref, platform, resolveMode, logName } = request;
        const mode = resolveMode === 'pull' ? 'pull' : 'local';
        const policies = request.sourcePolicies.map((policy) => policyOf(policy));
        const question = {
          reference: ref,
          ...(platform && { platform }),
          mode,
          name: logName,
          policies,
        } as const;
        const { reference, ...found } = await asBuild(port.resolveImage(buildOf(metadata), question, signal));
        return { ...found, ref: reference };
      }),
    ],
    [
      'ReadFile',
      unary(readFileRequest, readFileResponse, async ({ ref, path, range }, { metadata, signal }) => {
        const { offset = 0, length = 0 } = range ?? {};
        const at = { result: ref, path, offset, length };
        return { data: await asBuild(port.readResult(buildOf(metadata), at, signal)) };
      }),
    ],
    [
      'ReadDir',
      unary(readDirRequest, readDirResponse, async (request, { metadata, signal }) => {
        const { ref, path, includePattern } = request;
        const at = { result: ref, path, pattern: includePattern };
        const found = await asBuild(port.listResult(buildOf(metadata), at, signal));
        return { entries: found.map((stat) => statMessage(stat)) };
      }),
    ],
    [
      'StatFile',
      unary(statFileRequest, statFileResponse, async ({ ref, path }, { metadata, signal }) => ({
        stat: statMessage(await asBuild(port.statResult(buildOf(metadata), { result: ref, path }, signal))),
      })),
    ],
    [
      'Evaluate',
      unary(evaluateRequest, empty, async ({ ref }, { metadata, signal }) => {
        // Whether there is such a result: its root is there.
        await asBuild(port.statResult(buildOf(metadata), { result: ref, path: '/' }, signal));
        return {};
      }),
    ],
  ];
}
