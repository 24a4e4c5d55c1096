import {
  field,
  long,
  mapped,
  message,
  nested,
  number,
  optional,
  repeated,
  text,
  type ValueOf,
} from '../../../daemon/base/wire/protobuf.ts';

/** `moby.buildkit.v1.sourcepolicy.Policy` (sourcepolicy/pb/policy.proto of BuildKit). */
const constraint = message({ key: field(1, text), value: field(2, text), condition: field(3, number) });
const selector = message({
  identifier: field(1, text),
  matchType: field(2, number),
  constraints: repeated(3, nested(constraint)),
});
const update = message({ identifier: field(1, text), attrs: mapped(2, text) });
const rule = message({
  action: field(1, number),
  selector: optional(2, nested(selector)),
  updates: optional(3, nested(update)),
});
export const sourcePolicy = message({ version: field(1, long), rules: repeated(2, nested(rule)) });
export type SourcePolicyMessage = ValueOf<typeof sourcePolicy>;
