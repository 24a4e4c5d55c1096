import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/engine/http.ts';
import { differences } from '../../support/engine/oracle.ts';
import { needsEngine } from '../../support/needs.ts';
import { TestSwarm } from '../../support/swarm/hosts/test-swarm.ts';

/** One node: what its tasks get of a service, as the docker CLI creates it. */
needsEngine('docker-cli', 'etcd')('docker CLI on a swarm of one: what tasks get', () => {
  let swarm: TestSwarm;

  beforeAll(async () => {
    swarm = await TestSwarm.start(1);
    await swarm.init();
  });
  afterAll(() => swarm[Symbol.asyncDispose]());

  const docker = (...words: string[]): Promise<string> => swarm.must(1, ...words);
  const create = (name: string, ...words: string[]): Promise<string> =>
    docker('service', 'create', '--detach=false', '--name', name, '--network', 'none', ...words);
  const containerOf = async (service: string): Promise<string> =>
    (await docker('ps', '-q', '--filter', 'is-task=true', '--filter', `name=${service}.`)).split('\n')[0] ??
    '';
  /** What its only task says of itself. */
  const lastTask = (service: string): Promise<string> =>
    docker('service', 'ps', '--no-trunc', '--format', '{{.CurrentState}} {{.Error}}', service);

  test('secrets and configs are files in memory, templates are filled in', async () => {
    const { daemon } = swarm.node(1);
    const { http } = daemon;
    const make = (kind: string, Name: string, text: string, more: object = {}): Promise<unknown> =>
      http.ok('POST', `/${kind}/create`, { Name, Data: Buffer.from(text).toString('base64'), ...more });
    await make('secrets', 'key', 'geheim');
    await make('configs', 'conf', 'plain');
    await make('configs', 'made', '{{.Service.Name}} {{env "A"}} {{secret "key"}}', {
      Templating: { Name: 'golang' },
    });
    await create(
      'files',
      '--secret',
      'key',
      '--secret',
      'source=key,target=/opt/key,uid=7,gid=8,mode=0400',
      '--config',
      'source=conf,target=/etc/conf',
      '--config',
      'source=made,target=/etc/made',
      '--env',
      'A=b',
      '--hostname',
      '{{.Service.Name}}-{{.Task.Slot}}',
      'busybox',
      'sleep',
      '3600',
    );
    const id = await containerOf('files');
    const read = (...words: string[]): Promise<string> => docker('exec', id, ...words);
    expect(await read('cat', '/run/secrets/key', '/etc/conf', '/etc/made')).toBe('geheimplainfiles b geheim');
    expect(await read('stat', '-c', '%a %u %g', '/opt/key', '/run/secrets/key')).toBe('400 7 8\n444 0 0');
    expect(await read('hostname')).toBe('files-1');
    await docker('service', 'rm', 'files');
    await docker('secret', 'rm', 'key');
  });

  test('52: a service has converged when its health check says so, and one that fails is replaced', async () => {
    const check = ['--health-cmd', 'test ! -e /sick', '--health-interval', '200ms', '--health-retries', '1'];
    await create('checked', '--restart-delay', '100ms', ...check, 'busybox', 'sleep', '3600');
    const first = await containerOf('checked');
    await docker('exec', first, 'touch', '/sick');
    await until('another task', async () => !['', first].includes(await containerOf('checked')), 30_000);
    expect(await lastTask('checked')).toMatch(/Failed .*unhealthy container/);
    await docker('service', 'rm', 'checked');
  });

  test('ports of the host are published', async () => {
    await docker(
      'service',
      'create',
      '--detach=false',
      '--name',
      'web',
      '--network',
      'bridge',
      '--publish',
      'mode=host,target=80,published=8080',
      'busybox',
      'sh',
      '-c',
      'mkdir /www; echo hello > /www/index.html; exec httpd -f -p 80 -h /www',
    );
    const { daemon } = swarm.node(1);
    expect(await daemon.netns.run('curl', '-s', 'http://127.0.0.1:8080/')).toBe('hello\n');
    expect(await docker('service', 'ps', '--format', '{{.Ports}}', 'web')).toBe('*:8080->80/tcp');
    await docker('service', 'rm', 'web');
  });

  test('33: an image that is nowhere: the task says so, and is tried again at its delay', async () => {
    await docker(
      'service',
      'create',
      '--detach',
      '--name',
      'lost',
      '--restart-delay',
      '1h',
      'nowhere.invalid/app:1',
    );
    await until('a rejected task', async () => (await lastTask('lost')).includes('Rejected'), 30_000);
    expect(await lastTask('lost')).toMatch(/No such image: nowhere\.invalid\/app:1: /);
    await docker('service', 'rm', 'lost');
  });

  test.each([
    [['false'], /Failed .*task: non-zero exit \(1\)/],
    [['/no/such/program'], /Failed .*starting container failed: .*no such file/],
  ])('a task that ends badly says why: %s', async (command, text) => {
    const words = ['--name', 'bad', '--restart-condition', 'none', '--network', 'none', 'busybox'];
    await docker('service', 'create', '--detach', ...words, ...command);
    await until('a failed task', async () => text.test(await lastTask('bad')), 30_000).catch(
      async (error: unknown) => {
        throw new Error(await lastTask('bad'), { cause: error });
      },
    );
    await docker('service', 'rm', 'bad');
  });

  test('service logs: of all its tasks; a log that cannot be read is said to be', async () => {
    await create(
      'talks',
      '--replicas',
      '2',
      'busybox',
      'sh',
      '-c',
      'echo out; echo err >&2; exec sleep 3600',
    );
    await until(
      'four lines',
      async () => (await swarm.docker(1, 'service', 'logs', 'talks')).out !== '',
      30_000,
    );
    const { out, err } = await swarm.docker(1, 'service', 'logs', '--raw', 'talks');
    expect([out, err]).toEqual(['out\nout\n', 'err\nerr\n']);
    const since = async (when: string): Promise<string> =>
      (await swarm.docker(1, 'service', 'logs', '--raw', '--since', when, 'talks')).out;
    expect([await since('1h'), await since('2100-01-01T00:00:00')]).toEqual(['out\nout\n', '']);
    // The last line of each was an error.
    const last = await swarm.docker(1, 'service', 'logs', '--tail', '1', '--timestamps', 'talks');
    expect([last.out, last.err]).toEqual([
      '',
      expect.stringMatching(/^(?:\d{4}-\d\d-\d\dT\S+ talks\.[12]\.\w{12}@n1 +\| err\n){2}$/),
    ]);
    await docker('service', 'rm', 'talks');
    await create('mute', '--log-driver', 'none', 'busybox', 'sleep', '3600');
    const { err: why } = await swarm.docker(1, 'service', 'logs', 'mute');
    expect(why).toContain('configured logging driver does not support reading');
    await docker('service', 'rm', 'mute');
  });

  test('a container that is removed by hand is replaced', async () => {
    await create('kept', '--restart-delay', '100ms', 'busybox', 'sleep', '3600');
    const first = await containerOf('kept');
    await docker('rm', '-f', first);
    await until('another task', async () => !['', first].includes(await containerOf('kept')), 30_000);
    await docker('service', 'rm', 'kept');
  });

  test('a kill of the daemon takes no task away', async () => {
    await create('steady', 'busybox', 'sleep', '3600');
    const before = await containerOf('steady');
    const { daemon } = swarm.node(1);
    await daemon.restart();
    await until(
      'the service',
      async () => {
        const { out } = await swarm.docker(1, 'service', 'ls', '--format', '{{.Name}} {{.Replicas}}');
        return out.includes('steady 1/1');
      },
      60_000,
    );
    expect(await containerOf('steady')).toBe(before);
    await docker('service', 'rm', 'steady');
  });

  test('nothing is left of services that were removed', async () => {
    await until('no container', async () => (await docker('ps', '-aq')) === '', 60_000);
    await expect.poll(() => differences(swarm.node(1).daemon), { timeout: 30_000 }).toEqual([]);
  });
});
