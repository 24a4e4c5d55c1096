import { cpSync } from 'node:fs';
import { constants } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { limits } from '../../../daemon/base/limits.ts';
import { sendSignal } from '../../../daemon/base/kernel/processes/pidfd.ts';
import { defragment, disarmFull } from '../../../swarm/store/etcd/maintenance.ts';
import { saveMember } from '../../../swarm/store/etcd-process/backup.ts';
import { wipeMember } from '../../../swarm/store/etcd-process/etcd-process.ts';
import type { Store } from '../../../swarm/store/port.ts';
import { TestNetns } from '../../support/engine/netns.ts';
import { needs } from '../../support/needs.ts';
import { TestMember } from '../../support/swarm/etcd-member.ts';
import { failureOf, only, persistent, put, Told } from '../../support/swarm/stores.ts';

/** Each test leaves what the next one begins with: a cluster takes seconds to grow. */
needs(
  'root',
  'etcd',
  'ip',
  'netns',
)('the members of a store', () => {
  let network: TestNetns;
  let one: TestMember;
  let two: TestMember;
  let three: TestMember;
  let all: TestMember[] = [];
  const stores: Store[] = [];

  beforeAll(async () => {
    network = new TestNetns(`bt${process.pid}c`);
    one = new TestMember('one', { port: 2381, network });
    two = new TestMember('two', { port: 2382, network });
    three = new TestMember('three', { port: 2383, network });
    all = [one, two, three];
    await one.start();
    await one.ready();
  });

  afterEach(async () => {
    for (const store of stores.splice(0)) {
      await store[Symbol.asyncDispose]();
    }
  });

  afterAll(async () => {
    for (const member of [one, two, three]) {
      await member[Symbol.asyncDispose]();
    }
    network[Symbol.dispose]();
  });

  function at(member: TestMember): Store {
    const { store } = member;
    stores.push(store);
    return store;
  }

  async function leader(): Promise<TestMember> {
    return persistent(async () => {
      for (const member of all) {
        const { leader: id, header } = await member.members.status();
        if (header?.memberId === id) {
          return member;
        }
      }
      throw new Error('no member leads');
    });
  }

  async function others(than: TestMember): Promise<[TestMember, TestMember]> {
    const [first = one, second = one] = all.filter((member) => member !== than);
    return [first, second];
  }

  /** Each member has what was written through any of them. */
  async function expectWhole(key: string): Promise<void> {
    const revision = await persistent(() => at(one).commit({ conditions: [], writes: [put(key, 'whole')] }));
    for (const member of all) {
      await member.ready();
      expect((await only(at(member), key))?.revision).toBe(revision);
    }
  }

  test('join: two more, one right after another, and all have the same', async () => {
    await at(one).commit({ conditions: [], writes: [put('before', 'x')] });
    await join(one, two);
    await join(one, three);
    // Both again: an answer that was lost is asked for again.
    const members = await one.members.list();
    for (const { id, peerUrls } of members) {
      await one.members.promote(id);
      expect((await one.members.addLearner(peerUrls[0] ?? '')).id).toBe(id);
    }
    expect(members.map(({ name, learner }) => `${name} ${learner}`).toSorted()).toEqual([
      'one false',
      'three false',
      'two false',
    ]);
    expect((await only(at(three), 'before'))?.value.toString()).toBe('x');
    await expectWhole('joined');
    expect((await three.members.status()).version).toMatch(/^3\.[45]\./);
  });

  test('117: a leader that was killed is replaced, and nobody writes for the one that led before', async () => {
    const killed = await leader();
    const [left] = await others(killed);
    const told = new Told();
    const start = await at(left).commit({ conditions: [], writes: [put('kill/a', '0')] });
    using _watch = at(left).watch('kill/', start + 1, told);
    await killed.process.kill();
    const write = { conditions: [{ key: 'kill/a', revision: start }], writes: [put('kill/a', '1')] };
    const beganMs = Date.now();
    const revision = await persistent(() => at(left).commit(write));
    expect(Date.now() - beganMs).toBeLessThan(20_000);
    await told.until(revision);
    await killed.start();
    await expectWhole('killed');
  });

  test('117: a leader that was frozen fences nothing in, and goes on as one of the others', async () => {
    const frozen = await leader();
    const [left] = await others(frozen);
    const candidate = { key: 'frozen/leader', ttlMs: 2_000, value: Buffer.from('x') };
    const first = await at(frozen).elect(candidate);
    sendSignal(frozen.process.process, constants.signals.SIGSTOP);
    const second = await at(left).elect(candidate);
    sendSignal(frozen.process.process, constants.signals.SIGCONT);
    expect(await first.lost).toMatch(/lease/);
    await frozen.ready();
    const late = await failureOf(
      persistentlyAnswered(() =>
        at(frozen).commit({ conditions: [], writes: [put('frozen/a', 'late')], fence: first.fence }),
      ),
    );
    expect(late.failure).toBe('fenced');
    await second.resign();
    await expectWhole('frozen');
  });

  test('116: three that were stopped together come back in any order', async () => {
    await Promise.all(all.map((member) => member.process.stop()));
    for (const member of [three, one, two]) {
      await member.start();
    }
    await expectWhole('stopped');
  });

  test('118: a member whose data is lost comes back as a new one', async () => {
    const lost = await idOf(two);
    await two.process.kill();
    await wipeMember(two.settings);
    await one.members.remove(lost);
    await one.members.remove(lost);
    await join(one, two);
    expect(await idOf(two)).not.toBe(lost);
    await expectWhole('wiped');
  });

  test('an address that changed is told to the others, and leadership is handed over before a removal', async () => {
    const leading = await leader();
    const [next] = await others(leading);
    await leading.members.moveLeader(await idOf(next));
    await expect.poll(() => leader()).toBe(next);
    const id = await idOf(leading);
    await next.members.update(id, 'http://127.0.0.2:2390');
    const members = await next.members.list();
    expect(members.find((member) => member.id === id)?.peerUrls).toEqual(['http://127.0.0.2:2390']);
    await leading.process.stop();
    // From now on, also where a later test starts it again.
    Object.assign(leading.settings, {
      peerUrl: 'http://127.0.0.2:2390',
      listenPeerUrl: 'http://0.0.0.0:2390',
    });
    await leading.start();
    await expectWhole('moved');
  });

  test('119: without a majority a write fails in time, a new cluster keeps all data and its revisions', async () => {
    const kept = await persistent(() => at(one).commit({ conditions: [], writes: [put('kept', 'x')] }));
    await two.process.kill();
    await three.process.kill();
    const beganMs = Date.now();
    const failure = await failureOf(at(one).commit({ conditions: [], writes: [put('lost', 'x')] }));
    expect(['unknown', 'unavailable']).toContain(failure.failure);
    expect(Date.now() - beganMs).toBeLessThan(2 * limits.swarmStoreCallMs);
    expect((await one.members.status()).leader).toBe('0');
    await one.process.kill();
    await one.start({ forceNewCluster: true });
    await one.ready();
    expect((await one.members.list()).map(({ name }) => name)).toEqual(['one']);
    expect((await only(at(one), 'kept'))?.revision).toBe(kept);
    expect(await at(one).commit({ conditions: [], writes: [put('kept', 'y')] })).toBeGreaterThan(kept);
    await one.start();
    await one.ready();
    all = [one];
    await wipeMember(two.settings);
    await join(one, two);
  });

  test('backup: a copy of a member that is written to has all that was there, and revisions go on', async () => {
    const first = await persistent(() =>
      at(one).commit({ conditions: [], writes: [put('backup/a', 'one')] }),
    );
    const writing = { over: false };
    const writer = (async () => {
      for (let turn = 0; !writing.over; turn += 1) {
        await at(one).commit({ conditions: [], writes: [put('backup/n', String(turn))] });
      }
    })();
    const copy = path.join(one.directory, 'copy');
    await saveMember(one.channel, one.settings.dataDirectory, copy);
    writing.over = true;
    await writer;
    await at(one).commit({ conditions: [], writes: [put('backup/a', 'after')] });
    await using restored = new TestMember('one', { port: 2384, network });
    cpSync(copy, restored.settings.dataDirectory, { recursive: true });
    await restored.start({ forceNewCluster: true });
    await restored.ready();
    const store = at(restored);
    expect((await only(store, 'backup/a'))?.revision).toBe(first);
    const next = await store.commit({ conditions: [], writes: [put('backup/b', 'x')] });
    expect(next).toBeGreaterThan((await only(store, 'backup/n'))?.revision ?? first);
    expect((await restored.members.list()).map(({ name }) => name)).toEqual(['one']);
  });

  test('maintenance: a member is defragmented, and an alarm that is not there is nothing', async () => {
    await defragment(one.channel);
    expect(await disarmFull(one.channel)).toBe(false);
  });
});

/** Until the answer is certain. */
function persistentlyAnswered<T>(work: () => Promise<T>): Promise<T> {
  return persistent(work, (error) => ['unknown', 'unavailable'].includes(error.failure));
}

/** As a promotion does it, through a member that is there. */
async function join(through: TestMember, joining: TestMember): Promise<void> {
  const added = await through.members.addLearner(joining.settings.peerUrl);
  const known = (await through.members.list())
    .filter(({ name }) => name !== '')
    .map(({ name, peerUrls: [peerUrl = ''] }) => ({ name, peerUrl }));
  const { name, peerUrl } = joining.settings;
  await joining.start({
    cluster: { state: 'existing', token: 'test', peers: [...known, { name, peerUrl }] },
  });
  await joining.members.whenFollowing();
  await through.members.promote(added.id);
  await joining.ready();
}

async function idOf(member: TestMember): Promise<string> {
  return (await member.members.status()).header?.memberId ?? '';
}
