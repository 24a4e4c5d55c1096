import { PassThrough, Readable } from 'node:stream';
import Docker from 'dockerode';
import { expect, test } from 'vitest';
import { describeEngine } from '../support/engine/engine.ts';
import { readAll } from '../support/engine/http.ts';
import { busyboxImageTar } from '../support/images/images.ts';

describeEngine('dockerode', (engine) => {
  const connect = (version?: string): Docker =>
    new Docker({ socketPath: engine.daemon.paths.socket, ...(version === undefined ? {} : { version }) });

  test.each([undefined, 'v1.24', 'v1.41'])('run: streams and exit code at %s', async (version) => {
    const out = new PassThrough();
    const err = new PassThrough();
    const texts = { out: '', err: '' };
    out.on('data', (chunk: Buffer) => (texts.out += chunk.toString()));
    err.on('data', (chunk: Buffer) => (texts.err += chunk.toString()));
    const [result, container] = await connect(version).run(
      'busybox',
      ['sh', '-c', 'echo out; echo err >&2; exit 3'],
      [out, err],
      { Tty: false },
    );
    expect(result).toMatchObject({ StatusCode: 3 });
    // The wait may be answered before the last output has been read.
    await expect.poll(() => texts).toEqual({ out: 'out\n', err: 'err\n' });
    await container.remove();
  });

  test('life: create, start, inspect, exec, logs, stop, remove', async () => {
    const docker = connect();
    const container = await docker.createContainer({
      Image: 'busybox',
      Cmd: ['sh', '-c', 'echo up; exec sleep 1000'],
      name: 'dockerode',
    });
    await container.start();
    expect((await container.inspect()).State.Running).toBe(true);
    expect((await docker.listContainers()).map(({ Names }) => Names)).toEqual([['/dockerode']]);
    const exec = await container.exec({ Cmd: ['echo', 'inside'], AttachStdout: true });
    const stream = await exec.start({});
    const out = new PassThrough();
    docker.modem.demuxStream(stream, out, out);
    stream.on('end', () => out.end());
    expect(String(await readAll(out))).toBe('inside\n');
    expect((await exec.inspect()).ExitCode).toBe(0);
    await expect
      .poll(async () => (await container.logs({ stdout: true })).subarray(8).toString())
      .toBe('up\n');
    await container.stop({ t: 0 });
    await container.remove();
    await expect(container.inspect()).rejects.toMatchObject({ statusCode: 404 });
  });

  test('attach: hijacked with standard input', async () => {
    const container = await connect().createContainer({
      Image: 'busybox',
      Cmd: ['cat'],
      OpenStdin: true,
      StdinOnce: true,
      Tty: false,
    });
    const stream = await container.attach({ stream: true, stdin: true, stdout: true, hijack: true });
    await container.start();
    stream.write('echo me\n');
    stream.end();
    const frames = await readAll(stream);
    expect(frames.subarray(8).toString()).toBe('echo me\n');
  });

  test('images: load, list, get, remove', async () => {
    const docker = connect();
    const tarball = Readable.from([busyboxImageTar({ tags: ['by:dockerode'] })]);
    await readAll(await docker.loadImage(tarball, {}));
    const image = docker.getImage('by:dockerode');
    expect((await image.inspect()).RepoTags).toContain('by:dockerode');
    expect((await readAll(await image.get())).length).toBeGreaterThan(100_000);
    await image.remove();
  });

  test('events, info, version, ping, volumes', async () => {
    const docker = connect();
    const events = await docker.getEvents({ filters: { event: ['create'] } });
    const next = new Promise<string>((resolve) => {
      events.once('data', (chunk: Buffer) => resolve(chunk.toString()));
    });
    await docker.createContainer({ Image: 'busybox' });
    expect(JSON.parse(await next)).toMatchObject({ Action: 'create', Type: 'container' });
    // The stream has no end of its own.
    (events as PassThrough).destroy();
    expect(await docker.info()).toMatchObject({ Containers: 1, OSType: 'linux' });
    expect(await docker.version()).toMatchObject({ Os: 'linux' });
    expect(String(await docker.ping())).toBe('OK');
    await docker.createVolume({ Name: 'node' });
    expect((await docker.listVolumes()).Volumes.map(({ Name }) => Name)).toContain('node');
    await docker.getVolume('node').remove();
  });
});
