import { armHere } from '../../../support/fakes/failpoints.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readKeyFile } from '../../../../swarm/ca/keys/key-file.ts';
import { isSealedKey, sealedKey } from '../../../../swarm/objects/values.ts';
import { Keyring, newDataKey } from '../../../../swarm/store/sealed.ts';
import { WAIT_MS } from '../../../support/patience.ts';
import { KeyManagers, type KeyManager } from '../../../support/swarm/key-managers.ts';

let swarm: KeyManagers;
beforeEach(() => {
  swarm = new KeyManagers();
});
afterEach(async () => {
  armHere('');
  await swarm[Symbol.asyncDispose]();
});

const settled = { timeout: WAIT_MS, interval: 10 };
const SECRETS = [
  sealedKey.secret('s1'),
  sealedKey.secret('s2'),
  sealedKey.config('c1'),
  sealedKey.registryAuth('web'),
  sealedKey.previousRegistryAuth('web'),
];

async function filled(by: KeyManager): Promise<void> {
  for (const key of SECRETS) {
    await by.put(key, `text of ${key}`);
  }
}

/** All managers have the newest key alone, every value is sealed with it, and is what it was. */
async function isOver(...managers: KeyManager[]): Promise<number> {
  await expect
    .poll(() => managers.map((manager) => manager.ids().length), settled)
    .toEqual(managers.map(() => 1));
  const [newest = 0] = managers[0]!.ids();
  expect(newest).toBeGreaterThan(1);
  for (const manager of managers) {
    expect(manager.ids()).toEqual([newest]);
    await expect.poll(() => manager.sealers(), settled).toEqual([newest]);
    for (const key of SECRETS) {
      expect(manager.textOf(key)).toBe(manager.textOf(key) && `text of ${key}`);
    }
    expect(manager.authority.root().tokens).toEqual(managers[0]!.authority.root().tokens);
  }
  return newest;
}

test('every key of sealed values is known as one', () => {
  for (const key of Object.values(sealedKey)) {
    expect(isSealedKey(key('a'))).toBe(true);
  }
  for (const key of [
    'secret/a/meta',
    'service/a/spec',
    'cluster/spec',
    'cluster/oldest-data-key',
    'node/a/cert',
  ]) {
    expect(isSealedKey(key)).toBe(false);
  }
});

describe('a new data key', () => {
  test('locking: all managers get it, all values are sealed with it, and the old one is dropped', async () => {
    const [one, two, three] = await swarm.three();
    await filled(one);
    await swarm.lead(two);
    const before = readKeyFile(one.pem).keyring!;
    await three.change({ autoLock: true });
    const key = await three.authority.unlockKey();
    expect(key).toMatch(/^SWMKEY-1-/);
    // At once: what is written from now on is not for the old key.
    await three.put(sealedKey.secret('new'), 'text of new');
    const sealed = three.cluster.value(sealedKey.secret('new'))!.value;
    expect(() => before.open(sealedKey.secret('new'), sealed)).toThrow(/does not have data key/);
    await isOver(one, two, three);
    for (const manager of [one, two, three]) {
      expect(manager.purged).toBe(1);
      expect(manager.pem).not.toMatch(/BEGIN (PRIVATE KEY|BERTH KEYRING)/);
      expect(await manager.authority.unlockKey()).toBe(key);
      for (const entry of manager.cluster.values('')) {
        if (isSealedKey(entry.key)) {
          expect(() => before.open(entry.key, entry.value)).toThrow(/does not have data key/);
        }
      }
    }
    // Another unlock key, and none: the data key stays. Locked again: another one.
    const { newest } = one.keys.held;
    await one.change({ autoLock: true, rotateUnlockKey: true });
    expect(await two.authority.unlockKey()).not.toBe(key);
    await two.change({ autoLock: false });
    await expect.poll(() => one.unlockKey, settled).toBe('');
    expect(one.keys.held.newest).toBe(newest);
    await two.change({ autoLock: true });
    expect(await isOver(one, two, three)).toBeGreaterThan(newest);
  });

  test('no manager ever has the new key in clear on its disk, nor is the unlock key sealed with the old', async () => {
    const [one] = await swarm.three();
    const seen = new Set<string>();
    const watch = one.cluster.subscribeValues((changes) => {
      seen.add(
        one.pem.includes('BEGIN BERTH KEYRING') ? String(readKeyFile(one.pem).keyring!.newest) : 'sealed',
      );
      for (const change of changes) {
        if (change.kind === 'put' && change.entry.key === sealedKey.unlockKey()) {
          expect(() => one.keys.held.from(1).open(change.entry.key, change.entry.value)).toThrow();
        }
      }
    });
    await one.change({ autoLock: true });
    watch[Symbol.dispose]();
    expect([...seen].filter((newest) => newest !== '1' && newest !== 'sealed')).toEqual([]);
  });

  test('a manager that is away keeps the old key alive; it takes the new one when it is back', async () => {
    const [one, two] = await swarm.three();
    await filled(one);
    await swarm.down('m3');
    await swarm.lead(one);
    await one.change({ autoLock: true });
    const newest = one.keys.held.newest;
    await expect.poll(() => one.sealers(), settled).toEqual([newest]);
    expect([one.ids(), two.ids()]).toEqual([
      [1, newest],
      [1, newest],
    ]);
    const three = await swarm.up('m3');
    expect(three.unlockKey).toBe(one.unlockKey);
    await isOver(one, two, three);
  });

  test('a value that is written meanwhile stays as it was written', async () => {
    const [one, two, three] = await swarm.three();
    await filled(one);
    let isFirst = true;
    const [key] = SECRETS;
    await swarm.lead(one, async (commit) => {
      if (isFirst && commit.values?.[0]?.key === key) {
        isFirst = false;
        // By a manager that does not know the new key yet.
        const old = two.keys.known.keys.find(({ id }) => id === 1)!;
        await two.cluster.commit({
          conditions: [],
          values: [{ kind: 'put', key: key!, value: new Keyring([old]).seal(key!, Buffer.from('newer')) }],
        });
      }
      return one.cluster.commit(commit);
    });
    await two.change({ autoLock: true });
    await expect.poll(() => [one, two, three].map((each) => each.ids().length), settled).toEqual([1, 1, 1]);
    expect(three.textOf(key!)).toBe('newer');
    expect(isFirst).toBe(false);
  });

  test.each(['conflict', 'unavailable', 'lost answer'] as const)(
    'the store fails now and then (%s): it comes to its end',
    async (kind) => {
      const [one, two, three] = await swarm.three();
      await filled(one);
      await swarm.lead(one);
      await two.change({ autoLock: true });
      for (let at = 0; at < 3; at += 1) {
        one.faults.add('commit', { kind });
        three.faults.add('commit', { kind });
      }
      await isOver(one, two, three);
    },
  );

  test.each([1, 2, 4, 7])('the leader dies after %i writes: the next one goes on', async (count) => {
    const [one, two, three] = await swarm.three();
    await filled(one);
    let left = count;
    await swarm.lead(one, async (commit) => {
      left -= 1;
      if (left < 0) {
        throw new Error('this leader is dead');
      }
      return one.cluster.commit(commit);
    });
    await three.change({ autoLock: true });
    await expect.poll(() => left, settled).toBeLessThan(0);
    await swarm.lead(two);
    await isOver(one, two, three);
  });

  test.each([
    ['swarm.membership.key-kept', 'refused'],
    ['swarm.membership.key-told', 'refused'],
    ['swarm.membership.key-take', 'stands'],
    ['swarm.membership.key-taken', 'stands'],
    ['swarm.membership.value-resealed', 'answered'],
    ['swarm.membership.key-retired', 'answered'],
    ['swarm.membership.key-purged', 'answered'],
    ['swarm.membership.key-dropped', 'answered'],
  ])('%s fails once: the update is %s, and all comes to its end', async (point, expected) => {
    const [one, two, three] = await swarm.three();
    await filled(one);
    await swarm.lead(one);
    armHere(`${point}=error(no)@1`);
    const locked = await two.change({ autoLock: true }).then(
      () => 'answered',
      () => (two.keys.held.newest === 1 && two.sealers().length === 1 ? 'refused' : 'stands'),
    );
    if (expected === 'refused') {
      expect(locked).toBe('refused');
      await two.change({ autoLock: true });
    }
    await isOver(one, two, three);
    expect(three.unlockKey).toBe(one.unlockKey);
  });

  test('a file of the store that cannot be rewritten: the key stays, nobody loses anything', async () => {
    const [one, two, three] = await swarm.three();
    await filled(one);
    one.purges.push(new Error('the disk is full'));
    await swarm.lead(two);
    await one.change({ autoLock: true });
    await isOver(one, two, three);
    expect(one.purged).toBe(1);
  });
});

describe('a manager that locks and dies', () => {
  test('before it has taken the key itself: its next daemon finds it, and so do the others', async () => {
    const [one, two, three] = await swarm.three();
    await filled(one);
    const { conditions, writes } = await one.authority.prepare({
      wish: { forceRotate: 0, externals: [] },
      rotateWorkerToken: false,
      rotateManagerToken: false,
      rotateUnlockKey: false,
      autoLock: true,
    });
    await swarm.down('m1');
    await two.cluster.commit({ conditions, values: writes });
    await expect
      .poll(() => [two, three].map(({ unlockKey }) => unlockKey !== ''), settled)
      .toEqual([true, true]);
    const again = await swarm.up('m1');
    expect(again.unlockKey).toBe(two.unlockKey);
    await swarm.lead(again);
    await isOver(again, two, three);
  });

  test('and nobody else has its key: all else works, and another unlock key mends it', async () => {
    const [one, two] = [await swarm.up('m1'), await swarm.up('m2')];
    await filled(one);
    await swarm.down('m2');
    await one.change({ autoLock: true });
    await swarm.down('m1');
    const again = await swarm.up('m2');
    expect(two).not.toBe(again);
    expect(again.textOf(SECRETS[0]!)).toBe(`text of ${SECRETS[0]}`);
    await expect(again.authority.unlockKey()).rejects.toThrow(/no manager that answers has data key \d+/);
    await again.put(SECRETS[0]!, `text of ${SECRETS[0]}`);
    // Nothing is changed that nobody asked for.
    await again.change({ autoLock: true }).catch(() => undefined);
    await expect(again.authority.unlockKey()).rejects.toThrow(/no manager that answers/);
    await again.change({ autoLock: true, rotateUnlockKey: true });
    expect(await again.authority.unlockKey()).toMatch(/^SWMKEY-1-/);
    expect(again.pem).not.toContain('BEGIN BERTH KEYRING');
    const back = await swarm.up('m1');
    expect(await back.authority.unlockKey()).toBe(await again.authority.unlockKey());
    await swarm.lead(again);
    await isOver(again, back);
  });
});

test('keys that no swarm came to want are not kept without bound', async () => {
  const one = await swarm.up('m1');
  for (let at = 0; at < 40; at += 1) {
    await one.keys.keep(newDataKey(at));
  }
  expect(one.keys.known.keys.length).toBeLessThan(20);
  await one.change({ autoLock: true });
  await swarm.lead(one);
  await isOver(one);
});
