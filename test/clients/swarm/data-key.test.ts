import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../../daemon/base/clock.ts';
import { isSealedKey } from '../../../swarm/objects/values.ts';
import { EtcdChannel } from '../../../swarm/store/etcd/channel.ts';
import { EtcdStore } from '../../../swarm/store/etcd/etcd-store.ts';
import type { Entry } from '../../../swarm/store/port.ts';
import type { Keyring } from '../../../swarm/store/sealed.ts';
import type { TestDaemon } from '../../support/engine/daemon.ts';
import { until } from '../../support/engine/http.ts';
import { needsEngine } from '../../support/needs.ts';
import { WAIT_MS } from '../../support/patience.ts';
import { dataKeys, keyringOf } from '../../support/swarm/hosts/key-file.ts';
import { TestSwarm } from '../../support/swarm/hosts/test-swarm.ts';

/** Elections, a grace of 10 s, and managers that take turns. */
const SETTLE_MS = 4 * WAIT_MS;

needsEngine('docker-cli', 'etcd')('docker CLI locks a swarm that was not locked', () => {
  let swarm: TestSwarm;
  let key = '';
  /** As on a copy of the disk from before. */
  let old: Keyring;
  let oldValues: Entry[];

  beforeAll(async () => {
    swarm = await TestSwarm.start(3, { armable: true });
    await swarm.init();
    await swarm.join(2, 'manager');
    await swarm.join(3, 'manager');
    await create('config', 'before', 'data from before');
    await create('secret', 'before-too', 'secret from before');
    old = keyringOf(daemonOf(1));
    oldValues = await sealedValues(daemonOf(1));
  });
  afterAll(() => swarm[Symbol.asyncDispose]());

  const daemonOf = (number: number): TestDaemon => swarm.node(number).daemon;
  const daemons = (): TestDaemon[] => [1, 2, 3].map(daemonOf);
  const create = async (kind: 'config' | 'secret', Name: string, text: string, by = 1): Promise<void> => {
    const body = { Name, Data: Buffer.from(text).toString('base64') };
    await daemonOf(by).http.ok('POST', `/${kind}s/create`, body);
  };
  const shown = async (number: number, name: string): Promise<string> => {
    const { Spec } = await daemonOf(number).http.ok<{ Spec: { Data: string } }>('GET', `/configs/${name}`);
    return Buffer.from(Spec.Data, 'base64').toString();
  };
  const unlock = async (number: number): Promise<void> => {
    expect(await swarm.must(number, 'info', '--format', '{{.Swarm.LocalNodeState}}')).toBe('locked');
    await daemonOf(number).http.ok('POST', '/swarm/unlock', { UnlockKey: key });
    await until(
      `n${number} to be a manager`,
      async () => (await daemonOf(number).http.request('GET', '/swarm')).status === 200,
      SETTLE_MS,
    );
  };

  test('114: the leader is killed while it seals values anew: another one goes on', async () => {
    // Values are the root, the store's authority, a config and a secret.
    daemonOf(1).arm('swarm.membership.value-resealed=sigkill@2');
    await swarm.must(2, 'swarm', 'update', '--autolock=true');
    key = await swarm.must(2, 'swarm', 'unlock-key', '--quiet');
    await daemonOf(1).ended(SETTLE_MS);
    daemonOf(1).arm('');
    await until(
      'another leader to write',
      () =>
        create('config', 'since', 'data since', 2).then(
          () => true,
          () => false,
        ),
      SETTLE_MS,
    );
    await create('secret', 'since-too', 'secret since', 3);
    await daemonOf(1).up();
    await unlock(1);
    await until(
      'the old key to be dropped',
      async () => daemons().every((daemon) => dataKeys(daemon, key).length === 1),
      SETTLE_MS,
    );
    const ids = daemons().map((daemon) => dataKeys(daemon, key)[0]);
    expect(new Set(ids).size).toBe(1);
    expect(ids).not.toContain(1);
  });

  test('114: the key of the old disk opens no value, and the old values are not in the store', async () => {
    const opened = oldValues.map((entry) => old.open(entry.key, entry.value).toString());
    expect(opened).toEqual(expect.arrayContaining(['data from before', 'secret from before']));
    for (const daemon of daemons()) {
      const values = await sealedValues(daemon);
      expect(values.length).toBe(oldValues.length + 2);
      for (const entry of values) {
        expect(() => old.open(entry.key, entry.value)).toThrow(/does not have data key/);
      }
      const file = readFileSync(path.join(daemon.paths.dataRoot, 'swarm/etcd/member/snap/db'));
      expect(values.filter((entry) => !file.includes(entry.value)).map((entry) => entry.key)).toEqual([]);
      expect(oldValues.filter((entry) => file.includes(entry.value)).map((entry) => entry.key)).toEqual([]);
      const keys = readFileSync(path.join(daemon.paths.dataRoot, 'swarm/node.pem'), 'utf8');
      expect(keys).not.toMatch(/BEGIN (BERTH|PRIVATE)/);
    }
  });

  test('114: every manager reads what was written before and since, also locked and unlocked again', async () => {
    for (const number of [1, 2, 3]) {
      expect(await shown(number, 'before')).toBe('data from before');
      expect(await shown(number, 'since')).toBe('data since');
      expect(await swarm.must(number, 'swarm', 'unlock-key', '--quiet')).toBe(key);
    }
    await daemonOf(2).stop();
    await daemonOf(2).up();
    await unlock(2);
    expect([await shown(2, 'before'), await shown(2, 'since')]).toEqual(['data from before', 'data since']);
  });
});

/** As the daemon's member of the store has them. */
async function sealedValues(daemon: TestDaemon): Promise<Entry[]> {
  using channel = new EtcdChannel(path.join(daemon.paths.execRoot, 'swarm/etcd:1'));
  await using store = new EtcdStore({ clock: systemClock, channel });
  const found: Entry[] = [];
  for await (const { entries } of store.view('')) {
    found.push(...entries.filter((entry) => isSealedKey(entry.key)));
  }
  return found;
}
