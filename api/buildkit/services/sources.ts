import { invalidArgument, notImplemented } from '../../../daemon/base/errors.ts';
import type { BuildkitPort, SourceQuestion } from '../../types/build/ports.ts';
import { resolveSourceRequest, resolveSourceResponse, type ResolveSourceMessage } from '../proto/gateway.ts';
import type { RpcMethod } from '../rpc/server.ts';
import { buildOf } from './build-id.ts';
import { asBuild } from './errors.ts';
import { unary } from './method.ts';
import { policyOf } from './source-policy.ts';

/** What a frontend asks of sources beside their files. */
export function sourceMethods(port: BuildkitPort): [string, RpcMethod][] {
  return [
    [
      'ResolveSourceMeta',
      unary(resolveSourceRequest, resolveSourceResponse, async (request, { metadata, signal }) => {
        const question = questionOf(request);
        const found = await asBuild(port.resolveSource(buildOf(metadata), question, signal));
        const { source, image, git, http } = found;
        return {
          source: { identifier: source.identifier, attrs: new Map(source.attrs) },
          ...(image && { image }),
          ...(git && { git: { ref: git.ref, checksum: git.commit } }),
          ...(http && { http: { checksum: http.digest, filename: http.fileName } }),
        };
      }),
    ],
  ];
}

/** Throws invalid_argument without a source, and not_implemented, by the field, for what is not told. */
function questionOf(request: ResolveSourceMessage): SourceQuestion {
  const { source, platform, resolveMode, logName, image, git, http, sourcePolicies } = request;
  if (source === undefined) {
    throw invalidArgument('source is required');
  }
  const asked = {
    'Image.AttestationChain': image?.attestationChain === true,
    'Image.ResolveAttestations': (image?.resolveAttestations ?? []).length > 0,
    'Git.ReturnObject': git?.returnObject === true,
    'HTTP.ChecksumRequest': http?.checksumRequest !== undefined,
  };
  const [refused] = Object.entries(asked).find(([, isAsked]) => isAsked) ?? [];
  if (refused !== undefined) {
    throw notImplemented(`${refused} of a source is not supported`);
  }
  return {
    source,
    ...(platform && { platform }),
    mode: resolveMode === 'pull' ? 'pull' : 'local',
    name: logName,
    policies: sourcePolicies.map((policy) => policyOf(policy)),
  };
}
