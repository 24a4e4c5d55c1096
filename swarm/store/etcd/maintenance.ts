import { limits } from '../../../daemon/base/limits.ts';
import { isStoreError } from '../errors.ts';
import type { EtcdChannel } from './channel.ts';
import { ALARM_ACTION, calls, NO_SPACE } from './messages.ts';

/** Gives freed room of a member's file back to the disk. The member is deaf meanwhile, 0.4 s for 20 MB. */
export async function defragment(channel: EtcdChannel): Promise<void> {
  await channel.ask(calls.defragment, {}, limits.swarmStoreDefragmentMs);
}

/**
 * Takes what was before a revision out of the own member's file, where it may leave it for later otherwise; what it had
 * is free room of the file then. Twice is once.
 */
export async function compactAtOnce(channel: EtcdChannel, revision: number): Promise<void> {
  try {
    await channel.ask(calls.compact, { revision, physical: true }, limits.swarmStoreDefragmentMs);
  } catch (error) {
    // It was before: etcd has waited for the end of that.
    if (!isStoreError(error, 'compacted')) {
      throw error;
    }
  }
}

/**
 * Lets a store take writes again that was full: after a compaction, and `defragment` on each member that was full.
 * Answers whether there was such an alarm.
 */
export async function disarmFull(channel: EtcdChannel): Promise<boolean> {
  const { alarms } = await channel.ask(calls.alarm, { action: ALARM_ACTION.list });
  const full = alarms.filter(({ type }) => type === NO_SPACE);
  for (const { memberId } of full) {
    await channel.ask(calls.alarm, { action: ALARM_ACTION.disarm, memberId, type: NO_SPACE });
  }
  return full.length > 0;
}
