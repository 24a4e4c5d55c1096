import { armHere } from '../../support/fakes/failpoints.ts';
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../daemon/base/clock.ts';
import { invariant } from '../../../daemon/base/errors.ts';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { Counters } from '../../../daemon/hub/records/counters.ts';
import { Mirror } from '../../../daemon/hub/records/mirror.ts';
import { Cluster } from '../../../swarm/cluster/cluster.ts';
import { SwarmRecords } from '../../../swarm/records/swarm-records.ts';
import { EtcdChannel } from '../../../swarm/store/etcd/channel.ts';
import { EtcdStore } from '../../../swarm/store/etcd/etcd-store.ts';
import { Keyring } from '../../../swarm/store/sealed.ts';
import { TestNetns } from '../../support/engine/netns.ts';
import { recordsContract } from '../../support/hub/records-contract.ts';
import { needs } from '../../support/needs.ts';
import { AnswerGate } from '../../support/swarm/answer-gate.ts';
import { TestMember } from '../../support/swarm/etcd-member.ts';

needs(
  'root',
  'etcd',
  'ip',
  'netns',
)('records in the store of a swarm', () => {
  let network: TestNetns;
  let member: TestMember;
  const sealer = Keyring.generate();

  beforeAll(async () => {
    network = new TestNetns(`bt${process.pid}r`);
    member = new TestMember('one', { port: 2390, network });
    await member.start();
    await member.ready();
  });

  afterAll(async () => {
    await member[Symbol.asyncDispose]();
    network[Symbol.dispose]();
  });

  /** What one manager has. Each name is a set of records of its own. */
  async function manager(
    name: string,
  ): Promise<{ records: SwarmRecords; gate: AnswerGate; store: EtcdStore }> {
    const gate = await AnswerGate.open(member.process.socket);
    const channel = new EtcdChannel(gate.socket);
    const store = new EtcdStore({ clock: systemClock, channel });
    const given = { clock: systemClock, logger: silentLogger };
    const cluster = await Cluster.open({ ...given, store });
    const records = new SwarmRecords({ ...given, cluster, sealer, name });
    onTestFinished(async () => {
      records[Symbol.dispose]();
      await cluster[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
      channel[Symbol.dispose]();
      gate[Symbol.dispose]();
    });
    return { records, gate, store };
  }

  recordsContract('records in etcd', async () => (await manager(fresh())).records);

  test('what one manager writes the others are told, and nothing of it can be read in the store', async () => {
    const name = fresh();
    const [one, two] = [await manager(name), await manager(name)];
    const told: unknown[] = [];
    const { revision } = await two.records.list('');
    two.records.watch('', revision + 1, {
      onChanges: (events) => told.push(...events),
      onRelist: () => told.push('relist'),
    });
    const value = { secret: 'open sesame' };
    const written = await one.records.update([{ kind: 'put', key: 'hook/1/1', value }]);
    await expect
      .poll(() => told)
      .toEqual([{ kind: 'put', record: { key: 'hook/1/1', value, revision: written } }]);
    for await (const page of one.store.view('')) {
      for (const entry of page.entries) {
        expect(entry.value.toString('latin1')).not.toContain('sesame');
      }
    }
  });

  test('an update whose answer is lost is made once', async () => {
    const { records, gate } = await manager(fresh());
    gate.loseNextAnswer();
    const first = await records.update([
      { kind: 'put', key: 'counter/hook', value: { last: 1 }, expected: 0 },
    ]);
    expect(await records.get('counter/hook')).toEqual({
      key: 'counter/hook',
      value: { last: 1 },
      revision: first,
    });
    gate.loseNextAnswer();
    await records.update([{ kind: 'delete', key: 'counter/hook', expected: first }]);
    expect(await records.get('counter/hook')).toBeUndefined();
  });

  test('a failure before a write leaves nothing, and one behind it all of it', async () => {
    const { records } = await manager(fresh());
    const write = () => records.update([{ kind: 'put', key: 'account/alice', value: 1, expected: 0 }]);
    armHere('swarm.records.update=error');
    await expect(write()).rejects.toThrow('swarm.records.update');
    expect(await records.get('account/alice')).toBeUndefined();
    armHere('swarm.records.updated=error');
    await expect(write()).rejects.toThrow('swarm.records.updated');
    armHere('');
    await expect.poll(async () => (await records.get('account/alice'))?.value).toBe(1);
    await expect(write()).rejects.toMatchObject({ code: 'conflict' });
  });

  test('managers that count at the same time never give an id twice', async () => {
    const name = fresh();
    const mirrors = await Promise.all(
      [1, 2, 3].map(async () => {
        const { records } = await manager(name);
        const mirror = await Mirror.open({ records, clock: systemClock, log: silentLogger }, '');
        onTestFinished(() => mirror[Symbol.dispose]());
        return mirror;
      }),
    );
    const ids = await Promise.all(
      Array.from({ length: 60 }, (_, turn) => {
        const mirror = mirrors[turn % 3];
        invariant(mirror !== undefined, 'there are three managers');
        return mirror.change(() => {
          const { id, change } = new Counters(mirror).next('hook');
          return { changes: [change], answer: id };
        });
      }),
    );
    expect(ids.toSorted((a = 0, b = 0) => a - b)).toEqual(
      Array.from({ length: 60 }, (_, index) => index + 1),
    );
  });

  test('a manifest of 1,000 parts is one update', async () => {
    const { records } = await manager(fresh());
    const keys = Array.from(
      { length: 1_000 },
      (_, index) => `blob/1/sha256:${String(index).padStart(64, '0')}`,
    );
    for (let from = 0; from < 1_000; from += 100) {
      await records.update(keys.slice(from, from + 100).map((key) => ({ kind: 'put', key, value: {} })));
    }
    const all = (await records.list('blob/1/')).records;
    await records.update([
      ...all.map(({ key, revision }) => ({ kind: 'check' as const, key, expected: revision })),
      { kind: 'put', key: 'manifest/1/x', value: {}, expected: 0 },
    ]);
    expect((await records.get('manifest/1/x'))?.value).toEqual({});
  });
});

/** A name of a set of records that no other test has. */
function fresh(): string {
  return randomBytes(4).toString('hex');
}
