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

/**
 * Eight clients that ask until there is a file `over`: four with a connection for each request, four that keep theirs
 * for thirty. It prints how many were answered with which status; 000 is none.
 */
function loadOn(url: string, over: string): string {
  const ask = "curl -s -m 20 -o /dev/null -w '%{http_code}\\n'";
  const loop = (command: string): string => `(while [ ! -e ${over} ]; do ${command}; sleep 0.05; done) &`;
  const clients = Array.from({ length: 4 }, () => loop(`${ask} ${url}`) + loop(`${ask} '${url}?[1-30]'`));
  return `{ ${clients.join(' ')} wait; } | sort | uniq -c`;
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
  async function group(name: string, port: number, tags: object = {}): Promise<string> {
    const healthCheck = { healthCheckIntervalSeconds: 5, unhealthyThresholdCount: 2, path: '/index.html' };
    const body = { name, type: 'INSTANCE', tags, config: { port, healthCheck } };
    const { id } = await ask('POST', '/targetgroups', body);
    await active(String(id));
    return String(id);
  }

  async function active(id: string): Promise<void> {
    await until(
      'the group is active',
      async () => (await ask('GET', `/targetgroups/${id}`))['status'] === 'ACTIVE',
    );
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

  /** A group of ALB is a service: requests go to its published port, and so to all its tasks. */
  async function balanced(): Promise<void> {
    const command = [
      'sh',
      '-c',
      'mkdir -p /www && hostname > /www/index.html && exec httpd -f -p 8080 -h /www',
    ];
    await daemon.http.ok('POST', '/services/create', {
      Name: 'balanced',
      TaskTemplate: {
        ContainerSpec: { Image: 'busybox:latest', Command: command, StopGracePeriod: 1_000_000_000 },
      },
      Mode: { Replicated: { Replicas: 2 } },
      EndpointSpec: { Ports: [{ Protocol: 'tcp', TargetPort: 8080, PublishedPort: 7090 }] },
    });
    const { id } = await ask('POST', '/targetgroups', {
      name: 'balanced',
      type: 'ALB',
      config: { port: 8080 },
    });
    await active(String(id));
    await ask('POST', `/targetgroups/${String(id)}/registertargets`, { targets: [{ id: 'balanced' }] });
    await listen('balanced', String(id), 7085);
    expect(await statuses(String(id))).toEqual(['UNAVAILABLE']);
    const hosts = new Set<string>();
    await until('both tasks have answered', async () => {
      const answer = await daemon.fetch('http://127.0.0.1:7085/index.html').catch(() => '');
      if (/^[0-9a-f]{12}\n$/.test(answer)) {
        hosts.add(answer);
      }
      return hosts.size === 2;
    });
    await daemon.http.ok('DELETE', '/services/balanced');
  }

  async function updateState(): Promise<string | undefined> {
    const { UpdateStatus } = await daemon.http.ok<ServiceInspect>('GET', '/services/web');
    return UpdateStatus?.State;
  }

  test('containers of this host are checked and reached, and survive kill -9 of the daemon', async () => {
    const website = 'http://127.0.0.1:7080/';
    const id = await group('plain', 8080, { website });
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
    await daemon.http.ok('POST', '/hub/admin/users', { login: 'alice' });
    await daemon.http.ok('POST', '/hub/admin/repositories', { owner: 'alice', name: 'app' });
    const about = { 'website-meta': { category: 'shop', status: 'down' }, website };
    const note = await daemon.http.ok<object>('POST', '/hub/repos/alice/app/notes', { metadata: about });
    // What the checks have found, not what was written.
    expect(note).toMatchObject({ metadata: { 'website-meta': { category: 'shop', status: 'up' } } });
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

  test('an image answers each request in a container of its own, with either structure of events', async () => {
    const { Id } = await daemon.http.ok<{ Id: string }>('POST', '/containers/create', {
      Image: 'busybox:latest',
    });
    // It answers with the event that it got.
    const parts = `'{"statusCode":201,"headers":{"x-from":"fn"},"isBase64Encoded":true,"body":"%s"}'`;
    const program = `printf ${parts} "$(base64 | tr -d '\\n')"`;
    await daemon.http.ok('POST', `/commit?container=${Id}&repo=fn&tag=1`, { Cmd: ['sh', '-c', program] });
    await daemon.http.ok('DELETE', `/containers/${Id}`);
    const arns: string[] = [];
    for (const [version, port] of [
      ['V1', 7083],
      ['V2', 7084],
    ] as const) {
      const name = `fn-${version.toLowerCase()}`;
      const config = { lambdaEventStructureVersion: version };
      const { id, arn } = await ask('POST', '/targetgroups', { name, type: 'LAMBDA', config });
      await active(String(id));
      await ask('POST', `/targetgroups/${String(id)}/registertargets`, { targets: [{ id: 'fn:1' }] });
      await listen(name, String(id), port);
      arns.push(String(arn));
    }
    const asked = async (port: number): Promise<unknown> => {
      const url = `http://127.0.0.1:${port}/orders/7?a=1&a=2&b=x%20y`;
      const curl = ['curl', '-s', '-m', '60', '-X', 'PUT', '-H', 'x-user: alice', '-d', 'one "two"', url];
      const { stdout } = await exec('nsenter', [`--net=/run/netns/${daemon.netns.name}`, ...curl]);
      return JSON.parse(stdout);
    };
    await until('the first answers', async () => {
      const text = await daemon.fetch('http://127.0.0.1:7083/').catch(() => '');
      return text.startsWith('{');
    });
    expect(await asked(7083)).toEqual({
      raw_path: '/orders/7?a=1&a=2&b=x%20y',
      method: 'PUT',
      headers: expect.objectContaining({ 'x-user': 'alice', host: '127.0.0.1:7083' }),
      query_string_parameters: { a: '2', b: 'x y' },
      body: 'one "two"',
      is_base64_encoded: false,
    });
    expect(await asked(7084)).toEqual({
      version: '2.0',
      path: '/orders/7',
      method: 'PUT',
      headers: expect.objectContaining({ 'x-user': ['alice'], host: ['127.0.0.1:7084'] }),
      queryStringParameters: { a: ['1', '2'], b: ['x y'] },
      body: 'one "two"',
      isBase64Encoded: false,
      requestContext: expect.objectContaining({
        targetGroupArn: arns[1],
        identity: { sourceVpcArn: '', type: 'NONE', principal: '127.0.0.1' },
      }),
    });
    await until('no container is left', async () => {
      const filters = encodeURIComponent(JSON.stringify({ label: ['berth.function'] }));
      return (
        (await daemon.http.ok<unknown[]>('GET', `/containers/json?all=1&filters=${filters}`)).length === 0
      );
    });
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
    const over = `/tmp/berth-test-over-${process.pid}`;
    const load = exec('nsenter', [`--net=/run/netns/${daemon.netns.name}`, 'sh', '-c', loadOn(url, over)]);
    await update(server('v2'));
    await until('the update is complete', async () => (await updateState()) === 'completed');
    expect((await daemon.fetch(url)).trim()).toBe('v2');
    await update(server('v3', 'other.html'));
    await until('it is rolled back', async () => (await updateState()) === 'rollback_completed');
    await exec('touch', [over]);
    const { stdout } = await load;
    await exec('rm', ['-f', over]);
    const [, answered = ''] = /^ *(\d+) 200\n$/.exec(stdout) ?? [];
    expect(stdout).toBe(`${answered.padStart(7)} 200\n`);
    expect(Number(answered)).toBeGreaterThan(100);
    expect((await daemon.fetch(url)).trim()).toBe('v2');
    const tasks = await daemon.http.ok<TaskInspect[]>('GET', '/tasks');
    const errors = tasks.map(({ Status }) => Status.Err ?? '');
    expect(errors.join('\n')).toContain('unhealthy in target group web: HealthCheckStatusMismatch');
    await daemon.http.ok('DELETE', '/services/web');
    await balanced();
    await until('nothing is registered', async () => (await statuses(id)).length === 0);
    await daemon.http.ok('POST', '/swarm/leave?force=1');
  });
});
