import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TestDaemon } from '../../support/engine/daemon.ts';
import { until } from '../../support/engine/http.ts';
import { needsEngine } from '../../support/needs.ts';
import { TestSwarm } from '../../support/swarm/hosts/test-swarm.ts';
import { dataKeys } from '../../support/swarm/hosts/key-file.ts';
import { becomes, dieAt, nothingLeft, partOf, SETTLE_MS } from './steps.ts';

/**
 * A daemon dies at each step of what makes, changes and ends its part in a swarm. The next one finds a state that its
 * user can go on from, what was asked for can be asked for again, and leaving leaves nothing.
 */
needsEngine('docker-cli', 'etcd')('a swarm whose daemons die at a step', () => {
  describe('one node', () => {
    let swarm: TestSwarm;
    let daemon: TestDaemon;
    beforeAll(async () => {
      swarm = await TestSwarm.start(1, { armable: true });
      ({ daemon } = swarm.node(1));
    });
    afterAll(() => swarm[Symbol.asyncDispose]());

    const leave = async (): Promise<void> => {
      await swarm.must(1, 'swarm', 'leave', '--force');
      await nothingLeft(daemon);
    };
    const active = async (): Promise<void> => {
      if ((await partOf(daemon)) === 'inactive') {
        await swarm.init();
      }
      await becomes(daemon, 'active manager');
    };

    test.each([
      'swarm.membership.node-written@1',
      'swarm.membership.roots-written',
      'swarm.membership.keys-written',
      'swarm.membership.store-start',
      'swarm.membership.node-written@2',
      'swarm.membership.first-written',
      'swarm.membership.node-written@3',
      'swarm.membership.announced',
      'swarm.leader.elected',
      'swarm.agent.session.open',
      'swarm.session.open',
      'database.swarmobject.put',
    ])('init, killed at %s', async (point) => {
      await dieAt(daemon, point, () => swarm.init());
      const part = await becomes(daemon, 'inactive', 'active manager');
      if (part === 'inactive') {
        await nothingLeft(daemon);
      } else {
        await leave();
      }
      await swarm.init();
      await becomes(daemon, 'active manager');
      await leave();
    });

    test.each([
      'swarm.membership.node-written',
      'swarm.membership.store-stopped',
      'swarm.membership.node-wiped',
    ])('leave, killed at %s', async (point) => {
      await swarm.init();
      await dieAt(daemon, point, () => swarm.must(1, 'swarm', 'leave', '--force'));
      await becomes(daemon, 'inactive');
      await nothingLeft(daemon);
    });

    const running = async (): Promise<string[]> =>
      (await swarm.must(1, 'ps', '--quiet', '--filter', 'is-task=true')).split('\n').filter(Boolean);
    const create = (): ReturnType<TestSwarm['docker']> =>
      swarm.docker(
        1,
        'service',
        'create',
        '--detach',
        '--name=web',
        '--network=none',
        '--stop-grace-period=1s',
        'busybox',
        'sleep',
        '3600',
      );
    const remove = (): ReturnType<TestSwarm['docker']> => swarm.docker(1, 'service', 'rm', 'web');
    const runs = (count: number): Promise<void> =>
      until(`${count} containers`, async () => (await running()).length === count, SETTLE_MS);

    test.each([
      'swarm.control.commit',
      'swarm.leader.commit@1',
      'swarm.leader.commit@2',
      'swarm.agent.task.prepare',
      'swarm.agent.task.file@1',
      'swarm.agent.task.start',
      'swarm.agent.task.file@2',
      'swarm.agent.task.wait',
      'swarm.agent.task.file@3',
    ])('service create, killed at %s', async (point) => {
      await active();
      await dieAt(daemon, point, create);
      await becomes(daemon, 'active manager');
      // Whether it was made is not known: asked for again it is there.
      const again = await create();
      expect(again.code === 0 || again.err.includes('name conflicts with an existing object')).toBe(true);
      await runs(1);
      expect((await remove()).code).toBe(0);
      await runs(0);
    });

    test.each([
      'swarm.control.commit',
      'swarm.leader.commit@1',
      'swarm.agent.task.stop',
      'swarm.agent.task.file@1',
      'swarm.leader.commit@2',
      'swarm.agent.task.remove',
      'database.swarmobject.remove',
    ])('service rm, killed at %s', async (point) => {
      await active();
      await create();
      await runs(1);
      await dieAt(daemon, point, remove);
      await becomes(daemon, 'active manager');
      expect((await remove()).err).toMatch(/^$|service web not found/);
      await runs(0);
    });

    test.each([
      ['swarm.control.commit', ['swarm', 'update', '--autolock=true']],
      ['swarm.membership.keys-written', ['swarm', 'unlock-key', '--rotate']],
      ['swarm.membership.keys-written', ['swarm', 'update', '--autolock=false']],
    ])('killed at %s: docker %j', async (point, verb) => {
      await active();
      let key = '';
      if (verb[2] !== '--autolock=true') {
        await swarm.must(1, 'swarm', 'update', '--autolock=true');
        key = await swarm.must(1, 'swarm', 'unlock-key', '--quiet');
      }
      await dieAt(daemon, point, () => swarm.must(1, ...verb));
      const part = await becomes(daemon, 'active manager', LOCKED);
      // A key that nobody has seen yet opens nothing: as with dockerd the node can but leave, if it is alone.
      const opened = part === LOCKED && key !== '' && (await unlock(daemon, key));
      if (part === LOCKED && !opened) {
        await leave();
        return;
      }
      await becomes(daemon, 'active manager');
      await swarm.must(1, ...verb);
      await swarm.must(1, 'swarm', 'update', '--autolock=false');
      await daemon.restart();
      await becomes(daemon, 'active manager');
    });

    test.each([
      'swarm.membership.key-kept',
      'swarm.membership.key-told',
      'swarm.control.commit',
      'swarm.membership.key-take',
      'swarm.membership.value-resealed',
      'swarm.membership.key-retired',
      'swarm.membership.key-purged',
      'swarm.membership.key-dropped',
    ])('locking, killed at %s: the swarm gets its new data key', async (point) => {
      await active();
      let key = '';
      const lock = async (): Promise<void> => {
        await swarm.must(1, 'swarm', 'update', '--autolock=true');
        key = await swarm.must(1, 'swarm', 'unlock-key', '--quiet');
      };
      await dieAt(daemon, point, lock);
      if ((await becomes(daemon, 'active manager', LOCKED)) === LOCKED) {
        if (key === '') {
          // Nobody has seen it yet: the node can but leave.
          await leave();
          return;
        }
        expect(await unlock(daemon, key)).toBe(true);
        await becomes(daemon, 'active manager');
      }
      await lock();
      await until('the old key to be dropped', async () => dataKeys(daemon, key).length === 1, SETTLE_MS);
      expect(dataKeys(daemon, key)).not.toContain(1);
      await leave();
    });

    const rotated = (): Promise<void> =>
      until(
        'the root to be rotated',
        async () => {
          const { status, text } = await daemon.http.request('GET', '/swarm');
          return status === 200 && text.includes('"RootRotationInProgress":false');
        },
        SETTLE_MS,
      );

    test.each([
      'swarm.membership.rotation-told',
      'swarm.membership.renewed',
      'swarm.membership.keys-written',
      'swarm.membership.rotation-finished',
      'swarm.membership.roots-written',
    ])('rotation of the root, killed at %s: it ends', async (point) => {
      await active();
      await dieAt(daemon, point, () => swarm.must(1, 'swarm', 'ca', '--rotate', '--detach'));
      await becomes(daemon, 'active manager');
      await rotated();
      await daemon.restart();
      await becomes(daemon, 'active manager');
    });

    const alone = (): Promise<string> =>
      swarm.must(1, 'swarm', 'init', '--force-new-cluster', '--advertise-addr', swarm.node(1).addr);

    test.each([
      'swarm.membership.node-written',
      'swarm.membership.store-start',
      'swarm.membership.keys-written',
      'swarm.membership.taken-over',
    ])('init --force-new-cluster, killed at %s', async (point) => {
      await active();
      await dieAt(daemon, point, alone);
      await becomes(daemon, 'active manager');
      await alone();
      await becomes(daemon, 'active manager');
      expect(await swarm.must(1, 'node', 'ls', '--format', '{{.Hostname}} {{.ManagerStatus}}')).toBe(
        'n1 Leader',
      );
    });
  });

  describe('two nodes', () => {
    let swarm: TestSwarm;
    beforeAll(async () => {
      swarm = await TestSwarm.start(2, { armable: true });
      await swarm.init();
      await swarm.join(2, 'worker');
    });
    afterAll(() => swarm[Symbol.asyncDispose]());

    const daemonOf = (number: number): TestDaemon => swarm.node(number).daemon;
    const bothAre = async (first: string, second: string): Promise<void> => {
      await becomes(daemonOf(1), `active ${first}`);
      await becomes(daemonOf(2), `active ${second}`);
    };
    const isReady = (hostname: string): Promise<void> =>
      until(
        `${hostname} to be ready`,
        async () => {
          const { out } = await swarm.docker(1, 'node', 'ls', '--format', '{{.Hostname}} {{.Status}}');
          return out.split('\n').includes(`${hostname} Ready`);
        },
        SETTLE_MS,
      );

    test.each([
      [1, 'swarm.membership.admitted'],
      [2, 'swarm.membership.node-written@1'],
      [2, 'swarm.membership.keys-written'],
      [2, 'swarm.membership.node-written@2'],
    ])('join, n%i killed at %s: it joins by itself', async (number, point) => {
      await swarm.must(2, 'swarm', 'leave', '--force');
      await nothingLeft(daemonOf(2));
      const token = await swarm.must(1, 'swarm', 'join-token', '--quiet', 'worker');
      await dieAt(daemonOf(number), point, () =>
        swarm.docker(2, 'swarm', 'join', '--token', token, `${swarm.node(1).addr}:2377`),
      );
      await bothAre('manager', 'worker');
      await isReady('n2');
    });
  });
});

const LOCKED =
  'locked: Swarm is encrypted and needs to be unlocked before it can be used. ' +
  'Please use "docker swarm unlock" to unlock it.';

async function unlock(daemon: TestDaemon, UnlockKey: string): Promise<boolean> {
  return (await daemon.http.request('POST', '/swarm/unlock', { body: { UnlockKey } })).status === 200;
}
