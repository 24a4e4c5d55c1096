import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ServiceInspect } from '../../../api/types/swarm/service.ts';
import type { TaskInspect } from '../../../api/types/swarm/task.ts';
import { TestDaemon } from '../../support/engine/daemon.ts';
import { until } from '../../support/engine/http.ts';
import { needsEngine } from '../../support/needs.ts';

const exec = promisify(execFile);

/** A server that says so, and does not answer checks where `file` is another. */
function server(text: string, file = 'index.html'): string[] {
  return ['sh', '-c', `mkdir -p /www && echo ${text} > /www/${file} && exec httpd -f -p 8080 -h /www`];
}

function spec(command: readonly string[]): object {
  return {
    Name: 'web',
    Labels: { 'berth.target-group': 'web' },
    TaskTemplate: {
      ContainerSpec: { Image: 'busybox:latest', Command: command, StopGracePeriod: 1_000_000_000 },
    },
    Mode: { Replicated: { Replicas: 3 } },
    UpdateConfig: {
      Parallelism: 1,
      Order: 'start-first',
      FailureAction: 'rollback',
      Monitor: 1_000_000_000,
    },
    RollbackConfig: { Parallelism: 0, Order: 'start-first' },
  };
}

needsEngine('etcd')('target groups', () => {
  let daemon: TestDaemon;

  beforeAll(async () => {
    const cluster = { address: '127.0.0.1:6450' };
    daemon = await TestDaemon.start({ config: { hub: { address: '127.0.0.1:5010' }, cluster } });
    await daemon.loadBusybox();
  });
  afterAll(() => daemon[Symbol.asyncDispose]());

  /** Asks over the engine's socket. */
  async function ask(method: 'GET' | 'POST' | 'DELETE', path: string, body?: object) {
    return await daemon.http.ok<Record<string, unknown>>(method, `/cluster${path}`, body);
  }

  /** A group of instances that are checked every five seconds; its id. */
  async function group(name: string, port: number): Promise<string> {
    const healthCheck = { healthCheckIntervalSeconds: 5, unhealthyThresholdCount: 2, path: '/index.html' };
    const body = { name, type: 'INSTANCE', config: { port, healthCheck } };
    const { id } = await ask('POST', '/targetgroups', body);
    await until(
      'the group is active',
      async () => (await ask('GET', `/targetgroups/${String(id)}`))['status'] === 'ACTIVE',
    );
    return String(id);
  }

  async function listen(name: string, groupId: string, port: number): Promise<void> {
    const { id } = await ask('POST', '/services', { name });
    const defaultAction = { forward: { targetGroups: [{ targetGroupIdentifier: groupId }] } };
    await ask('POST', `/services/${String(id)}/listeners`, {
      name: 'main',
      protocol: 'HTTP',
      port,
      defaultAction,
    });
  }

  async function statuses(groupId: string): Promise<string[]> {
    const { items } = await ask('POST', `/targetgroups/${groupId}/listtargets`, {});
    return (Array.isArray(items) ? items : []).map((item: unknown) => String(Object(item)['status']));
  }

  async function update(command: readonly string[]): Promise<void> {
    const { Version } = await daemon.http.ok<ServiceInspect>('GET', '/services/web');
    await daemon.http.ok('POST', `/services/web/update?version=${Version.Index}`, spec(command));
  }

  async function updateState(): Promise<string | undefined> {
    const { UpdateStatus } = await daemon.http.ok<ServiceInspect>('GET', '/services/web');
    return UpdateStatus?.State;
  }

  test('containers of this host are checked and reached, and survive kill -9 of the daemon', async () => {
    const id = await group('plain', 8080);
    await listen('plain', id, 7080);
    for (const name of ['one', 'two']) {
      await daemon.http.ok('POST', `/containers/create?name=${name}`, {
        Image: 'busybox:latest',
        Cmd: server(name),
      });
      await daemon.http.ok('POST', `/containers/${name}/start`);
    }
    const targets = [{ id: 'one' }, { id: 'two' }, { id: 'nowhere' }];
    await ask('POST', `/targetgroups/${id}/registertargets`, { targets });
    await until(
      'two are healthy',
      async () => (await statuses(id)).filter((one) => one === 'HEALTHY').length === 2,
    );
    const texts = new Set<string>();
    for (let count = 0; count < 4; count += 1) {
      texts.add((await daemon.fetch('http://127.0.0.1:7080/index.html')).trim());
    }
    expect(texts).toEqual(new Set(['one', 'two']));
    await daemon.restart();
    await until('it serves again', async () => {
      const text = await daemon.fetch('http://127.0.0.1:7080/index.html').catch(() => '');
      return ['one', 'two'].includes(text.trim());
    });
    await until('the third is unhealthy', async () => (await statuses(id)).includes('UNHEALTHY'));
    for (const name of ['one', 'two']) {
      await daemon.http.ok('DELETE', `/containers/${name}?force=1`);
    }
  });

  test('an update of three tasks under load loses nothing; a broken one rolls back by itself', async () => {
    await daemon.http.ok('POST', '/swarm/init', {
      ListenAddr: '127.0.0.1:2377',
      AdvertiseAddr: '127.0.0.1:2377',
    });
    await until('the cluster is there', async () => {
      const { status } = await daemon.http.request('GET', '/cluster/targetgroups');
      return status === 200;
    });
    const id = await group('web', 8080);
    await listen('web', id, 7081);
    await daemon.http.ok('POST', '/services/create', spec(server('v1')));
    await until('three are healthy', async () => (await statuses(id)).join() === 'HEALTHY,HEALTHY,HEALTHY');

    const url = 'http://127.0.0.1:7081/index.html';
    // One process asks all the time, from within the daemon's network; it prints what was not answered.
    const over = `/tmp/berth-test-over-${process.pid}`;
    const script =
      `n=0; while [ ! -e ${over} ]; do ` +
      `curl -s -f -m 10 -o /dev/null ${url} || echo lost; n=$((n+1)); done; echo asked $n`;
    const load = exec('nsenter', [`--net=/run/netns/${daemon.netns.name}`, 'sh', '-c', script]);
    await update(server('v2'));
    await until('the update is complete', async () => (await updateState()) === 'completed');
    expect((await daemon.fetch(url)).trim()).toBe('v2');
    await update(server('v3', 'other.html'));
    await until('it is rolled back', async () => (await updateState()) === 'rollback_completed');
    await exec('touch', [over]);
    const { stdout } = await load;
    await exec('rm', ['-f', over]);
    expect(stdout.split('\n').filter((line) => line === 'lost')).toEqual([]);
    expect(stdout).toMatch(/asked \d{2,}/);
    expect((await daemon.fetch(url)).trim()).toBe('v2');
    const tasks = await daemon.http.ok<TaskInspect[]>('GET', '/tasks');
    const errors = tasks.map(({ Status }) => Status.Err ?? '');
    expect(errors.join('\n')).toContain('unhealthy in target group web: HealthCheckStatusMismatch');
    await daemon.http.ok('DELETE', '/services/web');
    await until('nothing is registered', async () => (await statuses(id)).length === 0);
    await daemon.http.ok('POST', '/swarm/leave?force=1');
  });
});
