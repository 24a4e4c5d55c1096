import { existsSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/engine/http.ts';
import { needsEngine } from '../../support/needs.ts';
import { TestSwarm } from '../../support/swarm/hosts/test-swarm.ts';

needsEngine('docker-cli', 'etcd')('docker CLI on a swarm with autolock', () => {
  let swarm: TestSwarm;
  let key = '';

  beforeAll(async () => {
    swarm = await TestSwarm.start(1);
  });
  afterAll(() => swarm[Symbol.asyncDispose]());

  test('114: init --autolock tells the key, and unlock-key tells it again', async () => {
    const said = await swarm.must(1, 'swarm', 'init', '--autolock', '--advertise-addr', swarm.node(1).addr);
    key = /SWMKEY-1-\S+/.exec(said)?.[0] ?? '';
    expect(await swarm.must(1, 'swarm', 'unlock-key', '--quiet')).toBe(key);
    await swarm.must(
      1,
      'service',
      'create',
      '--name',
      'web',
      '--network',
      'none',
      '--detach=false',
      'busybox',
      'sleep',
      '3600',
    );
  });

  test('114: a restarted manager is locked, its tasks run, and only the right key opens it', async () => {
    const container = await swarm.must(1, 'ps', '--quiet');
    // A member that was left running would still have the keys.
    await swarm.node(1).daemon.stop();
    await swarm.node(1).daemon.up();
    expect(await swarm.must(1, 'info', '--format', '{{.Swarm.LocalNodeState}}')).toBe('locked');
    expect((await swarm.docker(1, 'service', 'ls')).err).toContain(
      'Swarm is encrypted and needs to be unlocked before it can be used.',
    );
    expect(await swarm.must(1, 'ps', '--quiet')).toBe(container);
    const { http } = swarm.node(1).daemon;
    const wrong = `SWMKEY-1-${Buffer.alloc(32, 7).toString('base64').replace('=', '')}`;
    const refused = await http.request('POST', '/swarm/unlock', { body: { UnlockKey: wrong } });
    expect({ status: refused.status, body: refused.json }).toEqual({
      status: 401,
      body: { message: 'swarm could not be unlocked: invalid key provided' },
    });
    await http.ok('POST', '/swarm/unlock', { UnlockKey: key });
    await until('the service', async () => (await swarm.docker(1, 'service', 'ls')).out.includes('1/1'));
    expect(await swarm.must(1, 'ps', '--quiet')).toBe(container);
  });

  test('114: autolock off again: a restart needs no key', async () => {
    await swarm.must(1, 'swarm', 'update', '--autolock=false');
    await swarm.node(1).daemon.stop();
    await swarm.node(1).daemon.up();
    await until('the service', async () => (await swarm.docker(1, 'service', 'ls')).out.includes('1/1'));
  });

  test('leave: the last manager only with force, and then everything of the swarm is gone', async () => {
    expect((await swarm.docker(1, 'swarm', 'leave')).err).toContain(
      'Removing the last manager erases all current state of the swarm.',
    );
    await swarm.must(1, 'swarm', 'leave', '--force');
    expect(await swarm.must(1, 'ps', '--all', '--quiet')).toBe('');
    expect((await swarm.docker(1, 'node', 'ls')).err).toContain('This node is not a swarm manager.');
    await swarm.init();
  });

  test('114: leave --force of a locked manager takes its tasks and files away too', async () => {
    await swarm.must(1, 'swarm', 'update', '--autolock=true');
    const sleeper = ['busybox', 'sleep', '3600'];
    await swarm.must(
      1,
      'service',
      'create',
      '--name',
      'web',
      '--network',
      'none',
      '--detach=false',
      ...sleeper,
    );
    await swarm.node(1).daemon.stop();
    await swarm.node(1).daemon.up();
    expect(await swarm.must(1, 'info', '--format', '{{.Swarm.LocalNodeState}}')).toBe('locked');
    expect(await swarm.must(1, 'ps', '--quiet')).not.toBe('');
    expect((await swarm.docker(1, 'swarm', 'leave')).code).toBe(1);
    await swarm.must(1, 'swarm', 'leave', '--force');
    expect(await swarm.must(1, 'ps', '--all', '--quiet')).toBe('');
    expect(existsSync(`${swarm.node(1).daemon.paths.dataRoot}/swarm/agent`)).toBe(false);
    await swarm.init();
    expect(await swarm.must(1, 'service', 'ls', '--quiet')).toBe('');
  });

  test('leave: a node that could not be taken up again leaves no task behind', async () => {
    const sleeper = ['busybox', 'sleep', '3600'];
    await swarm.must(1, 'service', 'create', '--network', 'none', '--detach=false', ...sleeper);
    const { daemon } = swarm.node(1);
    await daemon.stop();
    writeFileSync(`${daemon.paths.dataRoot}/swarm/node.json`, '{"node');
    await daemon.up();
    expect(await swarm.must(1, 'info', '--format', '{{.Swarm.LocalNodeState}}')).toBe('error');
    expect(await swarm.must(1, 'ps', '--quiet')).not.toBe('');
    await swarm.must(1, 'swarm', 'leave', '--force');
    expect(await swarm.must(1, 'ps', '--all', '--quiet')).toBe('');
    expect(existsSync(`${daemon.paths.dataRoot}/swarm/agent`)).toBe(false);
    await swarm.init();
  });
});
