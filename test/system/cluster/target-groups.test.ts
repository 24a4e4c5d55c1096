import { afterAll, beforeAll, expect, test } from 'vitest';
import { TestDaemon } from '../../support/engine/daemon.ts';
import { until } from '../../support/engine/http.ts';
import { needsEngine } from '../../support/needs.ts';

/** A server that says so, and does not answer checks where `file` is another. */
function server(text: string, file = 'index.html'): string[] {
  return ['sh', '-c', `mkdir -p /www && echo ${text} > /www/${file} && exec httpd -f -p 8080 -h /www`];
}

needsEngine()('target groups', () => {
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
});
