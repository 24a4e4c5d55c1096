import { afterEach, expect, test } from 'vitest';
import { describeEngine, onReference } from '../../../support/engine/engine.ts';

const BRIDGE = { NetworkMode: 'bridge' };
const SLEEP = ['sleep', '1000'];
const PYTHON = ['/usr:/usr:ro', '/lib:/lib:ro', '/lib64:/lib64:ro'];
const TWICE = ['db:/slashed', 'other:slashed', 'db:slashed'];

describeEngine('Links', (engine) => {
  const address = async (id: string): Promise<string> =>
    (await engine.inspect(id)).NetworkSettings.Networks['bridge']?.IPAddress ?? '';
  const hostsOf = async (id: string): Promise<string[]> => {
    const { stdout } = await engine.exec(id, ['cat', '/etc/hosts']);
    return stdout.split('\n').filter((line) => line.startsWith('172.'));
  };
  const links = async (id: string): Promise<unknown> => (await engine.inspect(id)).HostConfig.Links;
  const act = async (method: string, path: string): Promise<[number, string]> => {
    const { status, text } = await engine.http.request(method, path);
    return [status, text];
  };
  const database = (): Promise<string> =>
    engine.start(
      SLEEP,
      BRIDGE,
      { Hostname: 'dbhost', Env: ['PW=x=y'], ExposedPorts: { '5432/tcp': {} } },
      'db',
    );
  const create = (Links: string[]): Promise<string> => engine.create(SLEEP, { ...BRIDGE, Links }, {}, 'web');
  const network = (name: string, verb: string, body: object): Promise<unknown> =>
    engine.http.ok('POST', `/networks/${name}/${verb}`, body);
  const createWith = (name: string, body: object): Promise<{ Warnings: string[] | null }> =>
    engine.http.ok('POST', `/containers/create?name=${name}`, body);
  /** What the C library finds, by the machine's own Python. */
  const look = async (id: string, name: string): Promise<string> => {
    const code = [
      'import socket',
      `try: print(socket.gethostbyname('${name}'), end='')`,
      "except OSError: print('unknown', end='')",
    ].join('\n');
    return (await engine.exec(id, ['/usr/bin/python3', '-c', code])).stdout;
  };

  afterEach(async () => {
    await engine.removeAll();
    await engine.http.ok('POST', '/networks/prune');
  });

  const start = async (Links: string[]): Promise<string> =>
    engine.start(SLEEP, { ...BRIDGE, Links }, {}, 'web');

  test('links: the other container is known by alias, hostname and name, and by variables', async () => {
    const ip = await address(await database());
    await start(['db:the-db']);
    expect(await hostsOf('web')).toContain(`${ip}\tthe-db dbhost db`);
    const { stdout } = await engine.exec('web', ['env']);
    const inits = (await engine.exec('web', ['sh', '-c', 'tr "\\0" "\\n" </proc/1/environ'])).stdout;
    for (const environment of [stdout, inits]) {
      expect(environment.split('\n').filter((entry) => entry.startsWith('THE_DB'))).toEqual([
        `THE_DB_PORT=tcp://${ip}:5432`,
        `THE_DB_PORT_5432_TCP=tcp://${ip}:5432`,
        `THE_DB_PORT_5432_TCP_ADDR=${ip}`,
        'THE_DB_PORT_5432_TCP_PORT=5432',
        'THE_DB_PORT_5432_TCP_PROTO=tcp',
        'THE_DB_NAME=/web/the-db',
        'THE_DB_ENV_PW=x=y',
      ]);
    }
    const ping = ['ping', '-c', '1', '-W', '2', 'the-db'];
    await expect.poll(async () => (await engine.exec('web', ping)).exitCode).toBe(0);
  });

  test('links: inspect and list show them by the names of now, and take what inspect showed', async () => {
    const db = await database();
    await start(['db', 'db:other']);
    expect(await links('web')).toEqual(['/db:/web/db', '/db:/web/other']);
    expect((await engine.list()).find(({ Id }) => Id === db)?.Names).toEqual([
      '/db',
      '/web/db',
      '/web/other',
    ]);
    await engine.http.ok('POST', '/containers/db/rename?name=base');
    await engine.http.ok('POST', '/containers/web/rename?name=site');
    expect(await links('site')).toEqual(['/base:/site/db', '/base:/site/other']);
    await engine.start(SLEEP, { ...BRIDGE, Links: ['/base:/site/db'] }, {}, 'again');
    expect(await links('again')).toEqual(['/base:/again/db']);
  });

  test('links: a target that comes back with another address is found there', async () => {
    const db = await database();
    const before = await address(db);
    await start(['db:the-db']);
    await engine.http.ok('POST', '/containers/db/stop?t=0');
    // Takes the address that is free now.
    await engine.start(SLEEP, BRIDGE);
    await engine.http.ok('POST', '/containers/db/start');
    const after = await address(db);
    if (!onReference) {
      expect(after).not.toBe(before);
    }
    expect(await hostsOf('web')).toContain(`${after}\tthe-db dbhost db`);
    expect((await hostsOf('web')).filter((line) => line.includes('the-db'))).toHaveLength(1);
  });

  test('links: a link is removed by DELETE with link=1, and the containers stay', async () => {
    await database();
    await start(['db:one', 'db:two']);
    expect(await act('DELETE', '/containers/web/one?link=1')).toEqual([204, '']);
    expect(await links('web')).toEqual(['/db:/web/two']);
    expect((await hostsOf('web')).filter((line) => /\tone /.test(line))).toEqual([]);
    expect(await act('DELETE', '/containers/web%2Ftwo?link=1')).toEqual([204, '']);
    expect(await links('web')).toBeNull();
    expect(await engine.list()).toHaveLength(2);
    expect((await act('DELETE', '/containers/web/one?link=1'))[0]).toBe(404);
    expect((await act('DELETE', '/containers/nobody/one?link=1'))[0]).toBe(404);
    const [status, text] = await act('DELETE', '/containers/web?link=1');
    expect([onReference ? 409 : status, text]).toEqual([
      409,
      expect.stringContaining('cannot remove the default link name of the container'),
    ]);
  });

  test('links: goes with its target, and survives a crash of the daemon without it', async () => {
    await database();
    const web = await create(['db:x']);
    if (!onReference) {
      await engine.daemon.restart();
    }
    expect(await links(web)).toEqual(['/db:/web/x']);
    await engine.http.ok('DELETE', '/containers/db?force=1');
    // dockerd 20.10 goes on showing it.
    expect(onReference ? null : await links(web)).toBeNull();
    await engine.http.ok('POST', '/containers/web/start');
  });

  test('links: to a container in the network of another leads to that one', async () => {
    const ip = await address(await database());
    await engine.start(SLEEP, { NetworkMode: 'container:db' }, {}, 'joined');
    await start(['joined:x']);
    expect(await hostsOf('web')).toContain(`${ip}\tx dbhost db`);
  });

  test('links: to one that was put into the default bridge later, for as long as it is there', async () => {
    await engine.http.ok('POST', '/networks/create', { Name: 'blue' });
    const db = await engine.start(SLEEP, { NetworkMode: 'blue' }, { Hostname: 'dbhost' }, 'db');
    await create(['db:x']);
    expect(await act('POST', '/containers/web/start')).toEqual([
      onReference ? 500 : 409,
      expect.stringContaining('Cannot link to /db, as it does not belong to the default network'),
    ]);
    await network('bridge', 'connect', { Container: db });
    await engine.http.ok('POST', '/containers/web/start');
    const line = async (): Promise<string> =>
      `${(await engine.inspect(db)).NetworkSettings.Networks['bridge']?.IPAddress}\tx dbhost db`;
    expect(await hostsOf('web')).toContain(await line());
    if (!onReference) {
      await network('bridge', 'disconnect', { Container: db });
      expect((await hostsOf('web')).filter((each) => each.includes('dbhost'))).toEqual([]);
      await network('bridge', 'connect', { Container: db });
      expect(await hostsOf('web')).toContain(await line());
    }
  });

  test('links: a slash before an alias is no part of it; of two with one alias the first counts', async () => {
    const ip = await address(await database());
    await engine.start(SLEEP, BRIDGE, {}, 'other');
    const body = { Image: 'busybox', Cmd: SLEEP, HostConfig: { ...BRIDGE, Links: TWICE } };
    const { Warnings } = await createWith('web', body);
    await engine.http.ok('POST', '/containers/web/start');
    expect(await links('web')).toEqual(['/db:/web/slashed']);
    expect((await hostsOf('web')).filter((line) => line.includes('slashed'))).toEqual([
      `${ip}\tslashed dbhost db`,
    ]);
    if (!onReference) {
      expect(Warnings).toEqual([
        'Link other:slashed is ignored: the alias slashed is that of a link before it.',
      ]);
    }
  });

  test('links: in a network of a user those of the endpoint are in force, those of HostConfig not', async () => {
    await engine.http.ok('POST', '/networks/create', { Name: 'blue' });
    const db = await engine.start(SLEEP, { NetworkMode: 'blue' }, {}, 'db');
    const ip = (await engine.inspect(db)).NetworkSettings.Networks['blue']?.IPAddress ?? '';
    const of = async (name: string, Links: string[], endpoint: object): Promise<string[]> => {
      const HostConfig = { NetworkMode: 'blue', Binds: PYTHON, Links };
      const NetworkingConfig = { EndpointsConfig: { blue: endpoint } };
      const body = { Image: 'busybox', Cmd: SLEEP, HostConfig, NetworkingConfig };
      const { Warnings } = await createWith(name, body);
      await engine.http.ok('POST', `/containers/${name}/start`);
      expect(await links(name)).toBeNull();
      return [await look(name, 'x'), ...(onReference ? [] : (Warnings ?? []))];
    };
    expect(await of('both', ['db:x'], { Links: ['db:x'] })).toEqual([ip]);
    expect(await of('endpoint', [], { Links: ['db:x'] })).toEqual([ip]);
    const warning = 'Links of HostConfig have no effect in network blue: use those of its endpoint.';
    expect(await of('host', ['db:x'], {})).toEqual(['unknown', ...(onReference ? [] : [warning])]);
  });

  test('links: without a network they are kept and ask for nothing', async () => {
    await engine.create(SLEEP, BRIDGE, {}, 'db');
    await engine.start(SLEEP, { NetworkMode: 'none', Links: ['db:x'] }, {}, 'web');
    expect(await links('web')).toEqual(['/db:/web/x']);
    expect((await engine.exec('web', ['env'])).stdout).not.toContain('X_NAME');
  });

  test.each([
    ['a stopped one', {}, 'Cannot link to a non running container: /other AS /web/x', false],
    ['one without network', { NetworkMode: 'none' }, 'as it does not belong to the default network', true],
  ])('links: to %s refuses the start', async (_what, host, message, isStarted) => {
    await engine.create(SLEEP, { ...BRIDGE, ...host }, {}, 'other');
    if (isStarted) {
      await engine.http.ok('POST', '/containers/other/start');
    }
    await create(['other:x']);
    const [status, text] = await act('POST', '/containers/web/start');
    // dockerd answers 500.
    expect([onReference ? 409 : status, text]).toEqual([409, expect.stringContaining(message)]);
    expect((await engine.inspect('web')).State.Error).toContain(message);
  });

  test.each([
    ['nobody:x', 'could not get container for nobody'],
    ['a:b:c', 'bad format for links: a:b:c'],
    ['', 'empty string specified for links'],
    ['hostly:x', 'host type networking'],
  ])('links: %j is refused', async (link, message) => {
    await engine.create(SLEEP, { NetworkMode: 'host' }, {}, 'hostly');
    const { status, text } = await engine.http.request('POST', '/containers/create', {
      body: { Image: 'busybox', HostConfig: { Links: [link] } },
    });
    expect([onReference ? 400 : status, text]).toEqual([400, expect.stringContaining(message)]);
  });
});
