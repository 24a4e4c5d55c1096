import { execFileSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { needs } from '../support/needs.ts';
import { ServiceDaemon } from '../support/engine/service.ts';
import { HostSwarm, serviceSpec, soon } from './swarm/host-swarm.ts';
import { expectAllServed } from './swarm/what-works.ts';

const LOADED = '/sys/module/br_netfilter';
const FORBIDDEN = '/etc/modprobe.d/berth-test.conf';

/** A host whose administrator forbids the module, as small kernels lack it. */
needs('guest', 'etcd')('a swarm on a kernel without br_netfilter', () => {
  let swarm: HostSwarm;

  beforeAll(async () => {
    writeFileSync(FORBIDDEN, 'install br_netfilter /bin/false\n');
    swarm = new HostSwarm(await ServiceDaemon.start());
    if (existsSync(LOADED)) {
      execFileSync('rmmod', ['br_netfilter']);
    }
    await swarm.daemon.loadBusybox();
    await swarm.init();
    await swarm.network('shop');
    await swarm.network('names');
  });
  afterAll(async () => {
    rmSync(FORBIDDEN, { force: true });
    await swarm.daemon[Symbol.asyncDispose]();
  });

  test('tasks with a virtual address say what is missing, other services run', async () => {
    await swarm.http.ok('POST', '/services/create', serviceSpec('web'));
    const { TaskTemplate, ...pool } = serviceSpec('pool');
    await swarm.http.ok('POST', '/services/create', {
      ...pool,
      TaskTemplate: { ...TaskTemplate, Networks: [{ Target: 'names' }] },
    });
    await soon('an error that names the module', async () => {
      const tasks = [...(await swarm.tasks('web')), ...(await swarm.tasks('web', 'shutdown'))];
      return tasks.some(({ Status }) => Status?.Err?.includes('need br_netfilter') === true);
    });
    await swarm.running('pool');
    expect(await swarm.containers('web')).toEqual([]);
    expect(existsSync(LOADED)).toBe(false);
    await swarm.http.ok('DELETE', '/services/pool');
  });

  test('the module comes: tasks start without further action', async () => {
    execFileSync('modprobe', ['--ignore-install', 'br_netfilter']);
    await swarm.running('web');
    await swarm.client();
    await swarm.http.ok('POST', '/services/create', serviceSpec('pool'));
    await expectAllServed(swarm);
  });
});
