import { afterEach, expect, test } from 'vitest';
import { limits } from '../../../../daemon/base/limits.ts';
import { silentLogger } from '../../../../daemon/base/logger.ts';
import { startOvertaking } from '../../../../swarm/leader/overtaking.ts';
import { leaderOf } from '../../../../swarm/leader/start-leading.ts';
import { nodeWrites } from '../../../support/swarm/builders.ts';
import { SwarmRig, type ManagerRig } from '../../../support/swarm/manager-rig.ts';

const LOOK_MS = limits.swarmStoreLeaderLookMs;
/** Less than a lease lasts. */
const SOON_MS = 2 * LOOK_MS;

let started: AsyncDisposable[] = [];

afterEach(async () => {
  await Promise.all(started.map((each) => each[Symbol.asyncDispose]()));
  started = [];
});

/** Two managers, the second one of which looks at the members of the store; what it sees is the test's. */
class Rig {
  readonly rig = new SwarmRig();
  readonly asked: string[] = [];
  storeLeader: string | undefined | Error = 'member1';
  isSilent = true;
  first!: ManagerRig;
  second!: ManagerRig;

  async start(): Promise<this> {
    this.first = await (await (await this.rig.manager('m1')).begin(nodeWrites('n1'))).lead();
    this.second = await (await this.rig.manager('m2')).lead();
    const overtaking = startOvertaking({
      clock: this.rig.clock,
      logger: silentLogger,
      cluster: this.second.cluster,
      nodeId: 'm2',
      storeLeader: async () => {
        if (this.storeLeader instanceof Error) {
          throw this.storeLeader;
        }
        return this.storeLeader;
      },
      answers: async (addr) => {
        this.asked.push(addr);
        return !this.isSilent;
      },
    });
    started.push(overtaking);
    await this.rig.clock.advance(SOON_MS);
    return this;
  }

  async sees(...storeLeaders: (string | undefined | Error)[]): Promise<string | undefined> {
    for (const storeLeader of storeLeaders) {
      this.storeLeader = storeLeader;
      await this.rig.clock.advance(SOON_MS);
    }
    return leaderOf(this.second.cluster)?.node;
  }
}

test('the lead of a manager that is silent is taken when another member leads the store', async () => {
  const rig = await new Rig().start();
  const { leading } = rig.first;
  expect(await rig.sees(undefined, 'member2')).toBe('m2');
  expect(rig.asked).toEqual(['m1:2377']);
  expect(rig.second.leadership?.leading).toBeDefined();
  // The old one is cut off from nodes only: it hears by the store.
  expect(leading.signal.aborted).toBe(true);
  const late = leading.commit({ conditions: [], parts: nodeWrites('n2') });
  await expect(late).rejects.toMatchObject({ failure: 'fenced' });
});

test('a leader that answers stays, and one is not asked while the store has its leader', async () => {
  const rig = await new Rig().start();
  rig.isSilent = false;
  expect(await rig.sees('member2')).toBe('m1');
  expect(rig.asked).toEqual(['m1:2377']);
  rig.isSilent = true;
  // The same member after a while without: nobody was lost.
  expect(await rig.sees(undefined, new Error('the own member is away'), 'member2')).toBe('m1');
  expect(rig.asked).toEqual(['m1:2377']);
});

test('a key that is another one by now is not deleted, nor the own one', async () => {
  const rig = await new Rig().start();
  rig.second.faults.add('commit', { kind: 'conflict' });
  expect(await rig.sees('member2')).toBe('m1');
  expect(await rig.sees('member3')).toBe('m2');
  expect(await rig.sees('member1')).toBe('m2');
  expect(rig.asked).toEqual(['m1:2377', 'm1:2377']);
});
