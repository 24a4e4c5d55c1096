import { invalidArgument, notImplemented } from '../../../daemon/base/errors.ts';
import type { Sparse } from '../../../daemon/base/wire/protobuf.ts';
import type { AnsweredSource, PolicyAnswer, SourceQuestion } from '../../types/build/sources.ts';
import type { PolicyAnswerMessage, ResolvedSourceMessage, ResolveSourceMessage } from '../proto/sources.ts';
import { policyOf } from './source-policy.ts';

/** What is known of a source, as others are told. */
export function answerMessage({ source, image, git, http }: AnsweredSource): Sparse<ResolvedSourceMessage> {
  return {
    source: { identifier: source.identifier, attrs: new Map(source.attrs) },
    ...(image && { image }),
    ...(git && { git: { ref: git.ref, checksum: git.commit } }),
    ...(http && { http: { checksum: http.digest, filename: http.fileName } }),
  };
}

/** Throws invalid_argument without a source, and not_implemented, by the field, for what is not told. */
export function questionOf(request: ResolveSourceMessage): SourceQuestion {
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

/** By their numbers (sourcepolicy/pb/policy.proto). */
const ACTIONS = ['ALLOW', 'DENY', 'CONVERT'] as const;

/** What a client's policy answers. Throws in BuildKit's words for what is no answer, and as `questionOf`. */
export function policyAnswerOf({ decision, request }: PolicyAnswerMessage): PolicyAnswer {
  if (request !== undefined) {
    return { kind: 'more', question: questionOf(request) };
  }
  if (decision === undefined) {
    throw invalidArgument('no decision in policy response');
  }
  const { action, denyMessages, update } = decision;
  const name = ACTIONS[action];
  if (name === 'ALLOW') {
    return { kind: 'allow' };
  }
  if (name !== 'CONVERT') {
    // What has no name allows nothing.
    return {
      kind: 'deny',
      action: name ?? String(action),
      messages: denyMessages.map(({ message }) => message),
    };
  }
  if (update === undefined) {
    throw invalidArgument('convert action requires updated source');
  }
  return { kind: 'convert', source: update };
}
