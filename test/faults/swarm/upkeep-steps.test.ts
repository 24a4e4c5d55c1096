import { ARMED } from './arm-upkeep.ts';
import { expect, test } from 'vitest';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { Compaction } from '../../../swarm/leader/compaction.ts';
import { startMemberUpkeep } from '../../../swarm/leader/member-upkeep.ts';
import { ManualClock } from '../../support/fakes/manual-clock.ts';
import { nodeWrites } from '../../support/swarm/builders.ts';
import { SwarmRig } from '../../support/swarm/manager-rig.ts';

const MINUTE_MS = 60_000;

test('both steps are armed', () => {
  expect(process.env['BERTH_FAILPOINTS']).toBe(ARMED);
});

test('compaction that fails once at swarm.store.compact is tried again', async () => {
  const rig = new SwarmRig();
  const manager = await (await rig.manager()).begin(nodeWrites('n1'));
  const compaction = new Compaction({ clock: rig.clock, logger: silentLogger, isFull: async () => true });
  await manager.lead({ loops: [compaction] });
  expect(rig.store.history.compactedTo).toBe(0);
  await rig.clock.advance(2 * MINUTE_MS);
  expect(rig.store.history.compactedTo).toBeGreaterThan(0);
  await manager.leadership?.[Symbol.asyncDispose]();
});

test('defragmentation that fails once at swarm.store.defragment is tried again at the next turn', async () => {
  const clock = new ManualClock();
  let turns = 0;
  const done: string[] = [];
  const member = {
    sizes: async () => ({ fileBytes: 1, usedBytes: 1 }),
    isFull: async () => {
      turns += 1;
      return true;
    },
    defragment: async () => void done.push('defragment'),
    disarm: async () => void done.push('disarm'),
  };
  await using _upkeep = startMemberUpkeep({
    clock,
    logger: silentLogger,
    member,
    turn: () => ({ place: 0, of: 1 }),
  });
  for (let minute = 0; minute < 60 && done.length === 0; minute += 1) {
    await clock.advance(MINUTE_MS);
  }
  expect({ turns, done }).toEqual({ turns: 2, done: ['defragment', 'disarm'] });
});
