import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { needs } from '../support/needs.ts';
import { property } from '../support/engine/service.ts';
import { HostSwarm, soon, TASKS } from './swarm/host-swarm.ts';
import { expectAllServed, MEMORY, remembered, type Remembered } from './swarm/what-works.ts';

const suite = existsSync(MEMORY) ? needs('guest', 'etcd') : describe.skip;

/** After `swarm.test.ts`, and a boot. */
suite('a swarm on the systemd service after a boot', () => {
  const swarm = new HostSwarm();

  test('the manager answers by itself, and is who it was', async () => {
    const before: Remembered = JSON.parse(readFileSync(MEMORY, 'utf8'));
    await soon(
      'the manager',
      // Not listening yet: asked again.
      async () => (await swarm.http.request('GET', '/services').catch(() => undefined))?.status === 200,
    );
    expect(await remembered(swarm)).toEqual(before);
    expect(property('ActiveState')).toBe('active');
  });

  test('services run, ports answer, addresses and names lead to the tasks, nothing is there twice', async () => {
    await soon('the client', async () => {
      const { State } = await swarm.http.ok<{ State: { Running: boolean } }>(
        'GET',
        '/containers/client/json',
      );
      return State.Running;
    });
    await expectAllServed(swarm);
  });

  test('nothing is left of the tasks before the boot', async () => {
    await soon('old tasks to be ended', async () => {
      const ended = await swarm.tasks('web', 'shutdown');
      return ended.every(({ Status }) => !['running', 'starting'].includes(Status?.State ?? ''));
    });
    const running = (await swarm.http.ok<{ Id: string }[]>('GET', '/containers/json')).length;
    expect(running).toBe(2 * TASKS + 1);
  });
});
