import { describe, expect, test } from 'vitest';
import { silentLogger } from '../../../../daemon/base/logger.ts';
import { Compaction } from '../../../../swarm/leader/compaction.ts';
import { startMemberUpkeep } from '../../../../swarm/leader/member-upkeep.ts';
import { nodeWrites } from '../../../support/swarm/builders.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';
import { SwarmRig } from '../../../support/swarm/manager-rig.ts';

const MINUTE = 60_000;
const MIB = 2 ** 20;

class Member {
  fileBytes = 0;
  usedBytes = 0;
  full = false;
  readonly done: string[] = [];

  readonly clock: ManualClock;

  constructor(clock: ManualClock) {
    this.clock = clock;
  }

  sizes = async (): Promise<{ fileBytes: number; usedBytes: number }> => this;
  isFull = async (): Promise<boolean> => this.full;
  disarm = async (): Promise<void> => void this.done.push('disarm');

  async defragment(): Promise<void> {
    this.done.push(`defragment at ${Math.floor(Number(this.clock.nowNano() / 1_000_000n) / MINUTE) % 5}`);
    this.fileBytes = this.usedBytes;
  }
}

describe('upkeep of the store', () => {
  test('the leader lets the store forget what is older than ten minutes', async () => {
    const rig = new SwarmRig();
    const manager = await (await rig.manager()).begin(nodeWrites('n1'));
    const compaction = new Compaction({
      clock: rig.clock,
      logger: silentLogger,
      isFull: async () => false,
    });
    await manager.lead({ loops: [compaction] });
    const atStart = manager.cluster.revision;
    await rig.clock.advance(1.5 * MINUTE);
    await manager.write(...nodeWrites('n2'));
    manager.faults.add('compact', { kind: 'unavailable' });
    await rig.clock.advance(8 * MINUTE);
    expect(rig.store.history.compactedTo).toBe(0);
    await rig.clock.advance(1.6 * MINUTE);
    expect(rig.store.history.compactedTo).toBe(atStart);
    await manager.leadership?.[Symbol.asyncDispose]();
  });

  test('a store that is full forgets everything that was', async () => {
    const rig = new SwarmRig();
    const manager = await (await rig.manager()).begin(nodeWrites('n1'));
    const compaction = new Compaction({ clock: rig.clock, logger: silentLogger, isFull: async () => true });
    await manager.lead({ loops: [compaction] });
    await rig.clock.advance(MINUTE);
    expect(rig.store.history.compactedTo).toBe(manager.cluster.revision);
    await manager.leadership?.[Symbol.asyncDispose]();
  });

  test('members are defragmented where it is worth it, each manager at its own time', async () => {
    const clock = new ManualClock();
    const members = [0, 1, 2].map(() => new Member(clock));
    const started = members.map((member, place) =>
      startMemberUpkeep({ clock, logger: silentLogger, member, turn: () => ({ place, of: 3 }) }),
    );
    members
      .slice(0, 2)
      .forEach((member) => Object.assign(member, { fileBytes: 200 * MIB, usedBytes: 50 * MIB }));
    await clock.advance(10 * MINUTE);
    expect(members.map(({ done }) => done)).toEqual([['defragment at 0'], ['defragment at 1'], []]);
    await Promise.all(started.map((each) => each[Symbol.asyncDispose]()));
    expect(clock.pendingMs).toEqual([]);
  });

  test('a full member takes writes again after it', async () => {
    const clock = new ManualClock();
    const member = new Member(clock);
    member.full = true;
    await using _upkeep = startMemberUpkeep({
      clock,
      logger: silentLogger,
      member,
      turn: () => ({ place: 0, of: 1 }),
    });
    await clock.advance(MINUTE);
    expect(member.done).toEqual(['defragment at 0', 'disarm']);
  });
});
