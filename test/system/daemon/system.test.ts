import { request } from 'node:http';
import { expect, test } from 'vitest';
import { describeEngine, onReference } from '../../support/engine/engine.ts';

describeEngine('system', (engine) => {
  test.each(['GET', 'HEAD'])('ping: %s answers with the headers clients negotiate by', async (method) => {
    const answer = await engine.http.request(method, '/_ping');
    expect(answer).toMatchObject({
      status: 200,
      text: method === 'GET' ? 'OK' : '',
      headers: {
        'api-version': expect.stringMatching(/^1\.\d+$/),
        ostype: 'linux',
        'cache-control': 'no-cache, no-store, must-revalidate',
        pragma: 'no-cache',
        'docker-experimental': 'false',
      },
    });
  });

  test('version: names its components', async () => {
    expect(await engine.http.ok('GET', '/version')).toMatchObject({
      Os: 'linux',
      Arch: 'amd64',
      ApiVersion: expect.stringMatching(/^1\.\d+$/),
      MinAPIVersion: expect.stringMatching(/^1\.\d+$/),
      KernelVersion: expect.stringMatching(/^\d+\.\d+/),
      Components: expect.arrayContaining([expect.objectContaining({ Name: 'Engine' })]),
    });
  });

  test('info: counts what there is', async () => {
    await engine.start(['sleep', '1000']);
    await engine.run(['true']);
    expect(await engine.http.ok('GET', '/info')).toMatchObject({
      Containers: 2,
      ContainersRunning: 1,
      ContainersPaused: 0,
      ContainersStopped: 1,
      Images: 1,
      Driver: 'overlay2',
      OSType: 'linux',
      DockerRootDir: engine.daemon.paths.dataRoot,
      NCPU: expect.any(Number),
      MemTotal: expect.any(Number),
    });
  });

  test('versions: the oldest and the newest answer, one outside is refused with the text clients print', async () => {
    const { ApiVersion } = await engine.http.ok<{ ApiVersion: string }>('GET', '/version');
    for (const version of ['1.24', ApiVersion]) {
      expect((await engine.daemon.at(version).request('GET', '/containers/json')).status).toBe(200);
    }
    const old = await engine.daemon.at('1.5').request('GET', '/containers/json');
    expect([old.status, old.text]).toEqual([400, expect.stringContaining('client version 1.5 is too old')]);
    const next = await engine.daemon.at('1.99').request('GET', '/containers/json');
    expect([next.status, next.text]).toEqual([
      400,
      expect.stringContaining('client version 1.99 is too new'),
    ]);
  });

  test.each([
    ['GET', '/no/such/page', 404],
    ['PUT', '/containers/json', 404],
    ['POST', '/containers/create', 400],
  ])('errors: %s %s is %d with a message', async (method, path, status) => {
    const answer = await engine.http.request(
      method,
      path,
      status === 400 ? { body: Buffer.from('{"Image":') } : {},
    );
    expect([404, 405, status]).toContain(answer.status);
    expect(answer.json).toMatchObject({ message: expect.stringMatching(/./) });
  });

  test('create: a field of the wrong type is 400', async () => {
    const wrong = await engine.http.request('POST', '/containers/create', {
      body: { Image: 'busybox', Cmd: 5 },
    });
    // dockerd 20.10 answers 500, later ones 400.
    expect(wrong.status).toBe(onReference ? 500 : 400);
  });

  test('connections: a client that hangs up in the middle of its request harms nobody', async () => {
    await new Promise<void>((resolve) => {
      const half = request({
        socketPath: engine.http.socketPath,
        method: 'POST',
        path: '/containers/create',
      });
      half.on('error', () => resolve());
      half.setHeader('Content-Length', '1000');
      half.write('{"Image": "busy');
      setTimeout(() => half.destroy(new Error('gone')), 50);
    });
    expect((await engine.http.request('GET', '/_ping')).status).toBe(200);
  });

  test.runIf(!onReference)('stop: within two seconds with clients attached, containers run on', async () => {
    const id = await engine.start(['sleep', '1000']);
    const { State } = await engine.inspect(id);
    const stream = await engine.http.hijack(`/containers/${id}/attach?stream=1&stdout=1`);
    const events = await engine.http.open('GET', '/events');
    // The daemon's end cuts this stream.
    events.on('error', () => undefined);
    events.resume();
    const started = performance.now();
    expect(await engine.daemon.stop()).toBe(0);
    expect(performance.now() - started).toBeLessThan(15_000);
    expect(() => process.kill(State.Pid, 0)).not.toThrow();
    stream.socket.destroy();
    await engine.daemon.up();
    expect((await engine.inspect(id)).State).toMatchObject({ Running: true, Pid: State.Pid });
  });
});
