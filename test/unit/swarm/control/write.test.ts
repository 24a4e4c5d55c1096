import { expect, test } from 'vitest';
import { limits } from '../../../../daemon/base/limits.ts';
import { silentLogger } from '../../../../daemon/base/logger.ts';
import { Cluster } from '../../../../swarm/cluster/cluster.ts';
import { outOfSequence } from '../../../../swarm/control/base/rpc-error.ts';
import { unchanged, write } from '../../../../swarm/control/base/write.ts';
import { ScriptedFaults } from '../../../../swarm/store/memory/faults.ts';
import { MemoryCluster } from '../../../../swarm/store/memory/memory-cluster.ts';
import { MemoryStore } from '../../../../swarm/store/memory/memory-store.ts';
import { clusterWrite } from '../../../support/swarm/builders.ts';
import { ManualClock, settled } from '../../../support/fakes/manual-clock.ts';

/** Much less than a manager waits for what it may hear later. */
const AT_ONCE_MS = 10 * limits.swarmStoreRetryMs;

async function rig(): Promise<{ clock: ManualClock; faults: ScriptedFaults; cluster: Cluster }> {
  const clock = new ManualClock();
  const faults = new ScriptedFaults();
  const store = new MemoryStore({ clock, cluster: new MemoryCluster(clock), faults: faults.next });
  return { clock, faults, cluster: await Cluster.open({ clock, logger: silentLogger, store }) };
}

test('a write that was told to a leader of the store which is gone is written again at once', async () => {
  const { clock, faults, cluster } = await rig();
  faults.add('commit', { kind: 'late', ms: 3_600_000 });
  let decided = 0;
  const written = write(
    { cluster, clock, managers: { list: () => [] } },
    {
      decide: () => {
        decided += 1;
        return { answer: decided, conditions: [unchanged(cluster, 'cluster', 'c')], parts: [clusterWrite()] };
      },
    },
  );
  await settled();
  await clock.advance(AT_ONCE_MS);
  expect(await written).toBe(2);
});

test('a write whose answer was lost counts as written when deciding it anew is out of sequence', async () => {
  const { clock, faults, cluster } = await rig();
  faults.add('commit', { kind: 'lost answer' });
  const written = write(
    { cluster, clock, managers: { list: () => [] } },
    {
      decide: async () => {
        if (cluster.state.cluster !== undefined) {
          throw outOfSequence();
        }
        return { answer: 'first', conditions: [unchanged(cluster, 'cluster', 'c')], parts: [clusterWrite()] };
      },
    },
  );
  await settled();
  await clock.advance(AT_ONCE_MS);
  expect(await written).toBe('first');
});
