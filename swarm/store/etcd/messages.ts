import {
  bytes,
  field,
  flag,
  id,
  message,
  nested,
  number,
  optional,
  repeated,
  text,
} from '../../../daemon/base/wire/protobuf.ts';
import type { Message, ValueOf } from '../../../daemon/base/wire/protobuf.ts';

/**
 * etcd's calls and the fields that are used of their messages, by the numbers of its API version 3.4
 * (https://etcd.io/docs/v3.4/dev-guide/api_reference_v3/). 3.5 has the same.
 */
export interface Call<Q, A> {
  path: string;
  request: Message<Q>;
  answer: Message<A>;
  /** An answer that is lost leaves open whether it was done. */
  writes: boolean;
}

const header = message({ clusterId: field(1, id), memberId: field(2, id), revision: field(3, number) });
const headerField = field(1, nested(header));

const keyValue = message({
  key: field(1, text),
  created: field(2, number),
  revision: field(3, number),
  value: field(5, bytes),
});
export type KeyValue = ValueOf<typeof keyValue>;

const rangeRequest = message({
  key: field(1, text),
  rangeEnd: field(2, text),
  limit: field(3, number),
  revision: field(4, number),
  keysOnly: field(8, flag),
});
const rangeAnswer = message({
  header: headerField,
  entries: repeated(2, nested(keyValue)),
  more: field(3, flag),
});

const putRequest = message({ key: field(1, text), value: field(2, bytes), lease: field(3, id) });
const deleteRequest = message({ key: field(1, text) });
const operation = message({
  range: optional(1, nested(rangeRequest)),
  put: optional(2, nested(putRequest)),
  delete: optional(3, nested(deleteRequest)),
});
const operationAnswer = message({ range: optional(1, nested(rangeAnswer)) });

/** What of a key is compared; the comparison is always "equal", which is 0. */
export const TARGET = { created: 1, revision: 2 } as const;

const comparison = message({
  target: field(2, number),
  key: field(3, text),
  created: field(5, number),
  revision: field(6, number),
});
const transactionRequest = message({
  compare: repeated(1, nested(comparison)),
  success: repeated(2, nested(operation)),
  failure: repeated(3, nested(operation)),
});
const transactionAnswer = message({
  header: headerField,
  succeeded: field(2, flag),
  answers: repeated(3, nested(operationAnswer)),
});

const watchRequest = message({
  create: optional(
    1,
    nested(
      message({
        key: field(1, text),
        rangeEnd: field(2, text),
        from: field(3, number),
        progress: field(4, flag),
      }),
    ),
  ),
});

/** `type` of an event; 0 is a put. */
export const DELETED = 1;

const event = message({ type: field(1, number), entry: optional(2, nested(keyValue)) });
const watchAnswer = message({
  header: headerField,
  created: field(3, flag),
  canceled: field(4, flag),
  compactedTo: field(5, number),
  reason: field(6, text),
  events: repeated(11, nested(event)),
});
export type WatchAnswer = ValueOf<typeof watchAnswer>;

const onlyHeader = message({ header: headerField });
const empty = message({});
const leaseId = message({ id: field(1, id) });
const leaseAnswer = message({ id: field(2, id), ttlS: field(3, number) });

const member = message({
  id: field(1, id),
  name: field(2, text),
  peerUrls: repeated(3, text),
  clientUrls: repeated(4, text),
  learner: field(5, flag),
});
const membersAnswer = message({ members: repeated(2, nested(member)) });
const memberId = message({ id: field(1, id) });

/** `type` of an alarm: the database has reached its quota. */
export const NO_SPACE = 1;
/** `action` of an alarm request. */
export const ALARM_ACTION = { list: 0, disarm: 2 } as const;

const alarm = message({ memberId: field(1, id), type: field(2, number) });

export const calls = {
  range: call('KV/Range', rangeRequest, rangeAnswer),
  transaction: call('KV/Txn', transactionRequest, transactionAnswer, true),
  compact: call(
    'KV/Compact',
    message({ revision: field(1, number), physical: field(2, flag) }),
    onlyHeader,
    true,
  ),
  watch: call('Watch/Watch', watchRequest, watchAnswer),
  grant: call('Lease/LeaseGrant', message({ ttlS: field(1, number) }), leaseAnswer),
  revoke: call('Lease/LeaseRevoke', leaseId, onlyHeader, true),
  keepAlive: call('Lease/LeaseKeepAlive', leaseId, leaseAnswer),
  members: call('Cluster/MemberList', empty, membersAnswer),
  addMember: call(
    'Cluster/MemberAdd',
    message({ peerUrls: repeated(1, text), learner: field(2, flag) }),
    message({ member: optional(2, nested(member)), members: repeated(3, nested(member)) }),
    true,
  ),
  removeMember: call('Cluster/MemberRemove', memberId, membersAnswer, true),
  updateMember: call(
    'Cluster/MemberUpdate',
    message({ id: field(1, id), peerUrls: repeated(2, text) }),
    membersAnswer,
    true,
  ),
  promoteMember: call('Cluster/MemberPromote', memberId, membersAnswer, true),
  moveLeader: call('Maintenance/MoveLeader', message({ target: field(1, id) }), onlyHeader, true),
  status: call(
    'Maintenance/Status',
    empty,
    message({
      header: headerField,
      version: field(2, text),
      fileBytes: field(3, number),
      leader: field(4, id),
      raftIndex: field(5, number),
      appliedIndex: field(7, number),
      errors: repeated(8, text),
      usedBytes: field(9, number),
      learner: field(10, flag),
    }),
  ),
  alarm: call(
    'Maintenance/Alarm',
    message({ action: field(1, number), memberId: field(2, id), type: field(3, number) }),
    message({ alarms: repeated(2, nested(alarm)) }),
    true,
  ),
  defragment: call('Maintenance/Defragment', empty, onlyHeader, true),
  snapshot: call('Maintenance/Snapshot', empty, message({ left: field(2, number), blob: field(3, bytes) })),
};

function call<Q, A>(path: string, request: Message<Q>, answer: Message<A>, writes = false): Call<Q, A> {
  return { path: `/etcdserverpb.${path}`, request, answer, writes };
}
