import type { EtcdChannel } from '../store/etcd/channel.ts';
import { defragment, disarmFull } from '../store/etcd/maintenance.ts';
import type { EtcdMembers } from '../store/etcd/members.ts';
import type { StoreMember } from './member-upkeep.ts';

/** This manager's own etcd, for its upkeep. */
export function storeMemberOf({
  members,
  channel,
}: {
  members: EtcdMembers;
  channel: EtcdChannel;
}): StoreMember {
  return {
    sizes: () => members.status(),
    isFull: async () => (await members.status()).errors.some((error) => error.includes('NOSPACE')),
    defragment: () => defragment(channel),
    disarm: async () => void (await disarmFull(channel)),
  };
}
