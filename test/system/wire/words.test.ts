import { expect, test } from 'vitest';
import type { ContainerCreateRequest } from '../../../api/types/container.ts';
import { describeEngine } from '../../support/engine/engine.ts';

/** What people read when something is wrong, in answers and in the daemon's log. */
describeEngine('words', (engine) => {
  const SECRET = 'hush-4711';

  const messageOf = async (method: string, path: string, body?: unknown): Promise<[number, string]> => {
    const { status, json } = await engine.http.request(method, path, body === undefined ? {} : { body });
    return [status, (json as { message?: string } | undefined)?.message ?? ''];
  };
  const create = (body: object): Promise<[number, string]> =>
    messageOf('POST', '/containers/create', { Image: 'busybox:latest', ...body });
  const start = async (body: ContainerCreateRequest): Promise<[number, string]> => {
    const { Id } = await engine.http.ok<{ Id: string }>('POST', '/containers/create', {
      Image: 'busybox:latest',
      ...body,
    });
    return await messageOf('POST', `/containers/${Id}/start`);
  };

  /** A request with a secret wherever people keep one. */
  const secretive = {
    Cmd: ['sh', '-c', `echo ${SECRET}`],
    Entrypoint: ['env', `A=${SECRET}`],
    Env: [`WORD=${SECRET}`],
    Labels: { word: SECRET },
    Shell: [SECRET],
    Healthcheck: { Test: ['CMD', SECRET] },
    HostConfig: {
      Annotations: { word: SECRET },
      LogConfig: { Type: 'json-file', Config: { labels: SECRET } },
      Mounts: [
        {
          Type: 'volume' as const,
          Source: 'words',
          Target: '/v',
          VolumeOptions: {
            Labels: { word: SECRET },
            DriverConfig: { Options: { type: 'cifs', device: '//127.0.0.1/x', o: `password=${SECRET}` } },
          },
        },
      ],
    },
  };

  test('class 29: a refusal repeats nothing secret, and the log of the daemon does not either', async () => {
    const { HostConfig: host } = secretive;
    const wrong: [string, string, unknown][] = [
      { ...secretive, Hostname: 'a b' },
      { ...secretive, Env: [`=${SECRET}`] },
      { ...secretive, Env: SECRET },
      { ...secretive, Env: [`A=${SECRET}\0`] },
      { ...secretive, Labels: { word: { [SECRET]: 1 } } },
      { ...secretive, Cmd: [{ word: SECRET }] },
      { ...secretive, Healthcheck: { Test: [SECRET] } },
      { ...secretive, HostConfig: { ...host, Memory: 1 } },
      { ...secretive, HostConfig: { ...host, Memory: 1, NanoCpus: 1 } },
      { ...secretive, HostConfig: { ...host, Privileged: 'yes' } },
      { ...secretive, HostConfig: { ...host, LogConfig: { Type: 'json-file', Config: { word: SECRET } } } },
      {
        ...secretive,
        HostConfig: { ...host, LogConfig: { Type: 'splunk', Config: { 'splunk-token': SECRET } } },
      },
      { ...secretive, HostConfig: { ...host, Binds: ['/etc:/v'] } },
    ].map((body) => ['POST', '/containers/create', { Image: 'busybox:latest', ...body }]);
    wrong.push(
      ['POST', '/auth', { username: 'u', password: 5, identitytoken: SECRET }],
      ['POST', '/auth', SECRET],
      ['POST', '/volumes/create', { Name: 'x', DriverOpts: { o: [SECRET] } }],
      ['POST', '/volumes/create', { Name: 'words2', DriverOpts: { nope: SECRET } }],
      ['POST', '/networks/create', { Name: 'x', Labels: { word: [SECRET] } }],
      ['POST', `/build?buildargs=${encodeURIComponent(`{"a":"${SECRET}",}`)}`, undefined],
    );
    for (const [method, path, body] of wrong) {
      const [status, message] = await messageOf(method, path, body);
      expect([status, path.split('?')[0], message]).toEqual([
        400,
        path.split('?')[0],
        expect.not.stringContaining(SECRET),
      ]);
    }
    const headers = { 'content-type': 'application/json' };
    const cut = Buffer.from(`{"Image":"busybox","Env":["A=${SECRET}",}`);
    const { status, text } = await engine.http.request('POST', '/containers/create', { body: cut, headers });
    expect([status, text]).toEqual([400, expect.not.stringContaining(SECRET)]);

    const [code, message] = await start(secretive);
    expect([code, message]).toEqual([500, expect.stringContaining('failed to mount local volume')]);
    expect(message).not.toContain(SECRET);
    expect(engine.daemon.log()).not.toContain(SECRET);
    await engine.removeAll();
    await engine.http.ok('DELETE', '/volumes/words');
  });

  test('a refusal: names the field that is wrong, with its value, and none that is right', async () => {
    const Cmd = ['true'];
    expect(
      await create({ Cmd, Labels: { a: 'b' }, HostConfig: { Memory: 4096, NetworkMode: 'none' } }),
    ).toEqual([400, 'Minimum memory limit allowed is 6MB (HostConfig.Memory: 4096)']);
    expect(await create({ Cmd, HostConfig: { Memory: 4096, NanoCpus: 1 } })).toEqual([
      400,
      'Minimum memory limit allowed is 6MB (HostConfig.Memory: 4096)',
    ]);
  });

  test('a start: says field and value of what is found wrong only then', async () => {
    const none = { NetworkMode: 'none' };
    const PortBindings = { '80/tcp': [{ HostPort: '8099' }] };
    await engine.start(['sleep', '1000'], { NetworkMode: 'bridge', PortBindings });
    const answers = [];
    for (const HostConfig of [
      { PortBindings },
      {
        ...none,
        Devices: [{ PathOnHost: '/dev/nope', PathInContainer: '/dev/x', CgroupPermissions: 'rwm' }],
      },
      { ...none, Sysctls: { 'net.core.somaxconn': 'many' } },
      { ...none, Sysctls: { 'net.nope': '1' } },
      {
        ...none,
        LogConfig: { Type: 'awslogs', Config: { 'awslogs-region': 'eu-west-1', 'awslogs-group': 'g' } },
      },
      { ...none, LogConfig: { Type: 'fluentd', Config: { 'fluentd-address': '127.0.0.1:1' } } },
    ]) {
      answers.push(await start({ Cmd: ['true'], HostConfig }));
    }
    expect(answers).toEqual([
      [
        500,
        expect.stringMatching(
          /Bind for 0\.0\.0\.0:8099 failed: port is already allocated \(HostConfig\.PortBindings: .*"HostPort":"8099"/,
        ),
      ],
      [
        400,
        expect.stringMatching(
          /"\/dev\/nope": no such file or directory \(HostConfig\.Devices: \/dev\/nope\)$/,
        ),
      ],
      [400, expect.stringMatching(/\(HostConfig\.Sysctls: net\.core\.somaxconn=many\)$/)],
      [400, expect.stringMatching(/\(HostConfig\.Sysctls: net\.nope=1\)$/)],
      [
        500,
        expect.stringMatching(
          /no AWS credentials: .*\(HostConfig\.LogConfig: awslogs awslogs-region=eu-west-1 awslogs-group=g\)$/,
        ),
      ],
      [
        500,
        expect.stringMatching(
          /ECONNREFUSED.*\(HostConfig\.LogConfig: fluentd fluentd-address=127\.0\.0\.1:1\)$/,
        ),
      ],
    ]);
    // These are mistakes of a user: nothing is wrong with the daemon.
    expect(
      engine.daemon
        .log()
        .split('\n')
        .filter((line) => line.includes('"level":"error"')),
    ).toEqual([]);
  });
});
