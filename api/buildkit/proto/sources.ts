import {
  bytes,
  field,
  flag,
  mapped,
  message,
  nested,
  number,
  optional,
  repeated,
  text,
  type ValueOf,
} from '../../../daemon/base/wire/protobuf.ts';
import { platform } from './common.ts';
import { sourcePolicy } from './source-policy.ts';

/** What is known of sources beside their files (frontend/gateway/pb/gateway.proto of BuildKit). */
const source = message({ identifier: field(1, text), attrs: mapped(2, text) });
export const resolveSourceRequest = message({
  source: optional(1, nested(source)),
  platform: optional(2, nested(platform)),
  logName: field(3, text),
  resolveMode: field(4, text),
  git: optional(5, nested(message({ returnObject: field(1, flag) }))),
  image: optional(
    6,
    nested(
      message({
        noConfig: field(1, flag),
        attestationChain: field(2, flag),
        resolveAttestations: repeated(3, text),
      }),
    ),
  ),
  http: optional(7, nested(message({ checksumRequest: optional(1, bytes) }))),
  sourcePolicies: repeated(8, nested(sourcePolicy)),
});
export type ResolveSourceMessage = ValueOf<typeof resolveSourceRequest>;
export const resolveSourceResponse = message({
  source: optional(1, nested(source)),
  image: optional(2, nested(message({ digest: field(1, text), config: field(2, bytes) }))),
  git: optional(3, nested(message({ checksum: field(1, text), ref: field(2, text) }))),
  http: optional(4, nested(message({ checksum: field(1, text), filename: field(2, text) }))),
});
export type ResolvedSourceMessage = ValueOf<typeof resolveSourceResponse>;

/** `moby.buildkit.v1.sourcepolicy.policysession.PolicyVerifier`, of a client's session. */
export const checkPolicyRequest = message({
  platform: optional(1, nested(platform)),
  source: optional(2, nested(resolveSourceResponse)),
});
const decision = message({
  action: field(1, number),
  denyMessages: repeated(2, nested(message({ message: field(1, text) }))),
  update: optional(3, nested(source)),
});
export const checkPolicyResponse = message({
  decision: optional(1, nested(decision)),
  request: optional(2, nested(resolveSourceRequest)),
});
export type PolicyAnswerMessage = ValueOf<typeof checkPolicyResponse>;
