import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import { until } from '../../support/engine/http.ts';

const OPEN = { OpenStdin: true, StdinOnce: true, AttachStdin: true, AttachStdout: true, AttachStderr: true };
const ALL = 'stream=1&stdin=1&stdout=1&stderr=1';

describeEngine('attach', (engine) => {
  test('attach: before the start gets every byte from the first', async () => {
    const id = await engine.create(['sh', '-c', 'echo first; echo second >&2']);
    const stream = await engine.http.hijack(`/containers/${id}/attach?stream=1&stdout=1&stderr=1`);
    await engine.http.ok('POST', `/containers/${id}/start`);
    expect(await stream.output()).toEqual({ stdout: 'first\n', stderr: 'second\n' });
  });

  test('attach: answers 101 with the headers clients insist on', async () => {
    const id = await engine.create(['true']);
    const stream = await engine.http.hijack(`/containers/${id}/attach?stream=1&stdout=1`);
    expect(stream.response.statusCode).toBe(101);
    expect(stream.response.headers).toMatchObject({ connection: 'Upgrade', upgrade: 'tcp' });
    stream.socket.destroy();
  });

  test('attach: standard input reaches the container, its end too', async () => {
    const id = await engine.create(['sh', '-c', 'cat; echo done'], {}, OPEN);
    const stream = await engine.http.hijack(`/containers/${id}/attach?${ALL}`);
    await engine.http.ok('POST', `/containers/${id}/start`);
    stream.socket.write('over the ');
    stream.socket.end('wire\n');
    expect(await stream.output()).toEqual({ stdout: 'over the wire\ndone\n', stderr: '' });
    expect(await engine.wait(id)).toBe(0);
  });

  test('attach: a megabyte goes through unchanged', async () => {
    const id = await engine.create(['md5sum'], {}, OPEN);
    const stream = await engine.http.hijack(`/containers/${id}/attach?${ALL}`);
    await engine.http.ok('POST', `/containers/${id}/start`);
    stream.socket.end(Buffer.alloc(1024 * 1024, 'berth'));
    const digest = createHash('md5')
      .update(Buffer.alloc(1024 * 1024, 'berth'))
      .digest('hex');
    expect((await stream.output()).stdout).toBe(`${digest}  -\n`);
  });

  test('attach: a container without open stdin reads end of file', async () => {
    const { exitCode, stdout } = await engine.run(['sh', '-c', 'cat; echo eof']);
    expect([exitCode, stdout]).toEqual([0, 'eof\n']);
  });

  test('attach: with logs=1 the past comes first', async () => {
    const id = await engine.start(['sh', '-c', 'echo past; read line; echo "$line"'], {}, OPEN);
    await until('the first line', async () => (await engine.logs(id)).stdout === 'past\n');
    const stream = await engine.http.hijack(`/containers/${id}/attach?logs=1&${ALL}`);
    await stream.waitFor('past');
    stream.socket.write('present\n');
    expect((await stream.output()).stdout).toBe('past\npresent\n');
  });

  test('attach: two clients see the same output', async () => {
    const id = await engine.create(['sh', '-c', 'sleep 0.2; echo both']);
    const path = `/containers/${id}/attach?stream=1&stdout=1`;
    const streams = [await engine.http.hijack(path), await engine.http.hijack(path)];
    await engine.http.ok('POST', `/containers/${id}/start`);
    const outputs = await Promise.all(streams.map((stream) => stream.output()));
    expect(outputs.map(({ stdout }) => stdout)).toEqual(['both\n', 'both\n']);
  });

  test('attach: a terminal is raw, has the size asked for, and echoes', async () => {
    const id = await engine.create(['sh'], {}, { ...OPEN, Tty: true });
    const stream = await engine.http.hijack(`/containers/${id}/attach?${ALL}`);
    await engine.http.ok('POST', `/containers/${id}/start`);
    await engine.http.ok('POST', `/containers/${id}/resize?h=33&w=120`);
    stream.socket.write('stty size; test -t 0 && echo a-terminal; exit 4\n');
    const output = await stream.raw();
    expect(output).toContain('33 120\r\n');
    expect(output).toContain('a-terminal\r\n');
    expect(await engine.wait(id)).toBe(4);
  });

  test('attach: the detach keys leave the container running', async () => {
    const id = await engine.create(['cat'], {}, { ...OPEN, Tty: true, StdinOnce: false });
    const stream = await engine.http.hijack(`/containers/${id}/attach?${ALL}&detachKeys=ctrl-a,x`);
    await engine.http.ok('POST', `/containers/${id}/start`);
    stream.socket.write('hello\n');
    await stream.waitFor('hello');
    stream.socket.write('\u0001x');
    await stream.raw();
    expect((await engine.inspect(id)).State.Running).toBe(true);
  });

  test('attach: a client that hangs up does not disturb the container', async () => {
    const id = await engine.start(['sh', '-c', 'for i in 1 2 3 4 5; do echo $i; sleep 0.1; done']);
    const stream = await engine.http.hijack(`/containers/${id}/attach?stream=1&stdout=1`);
    stream.socket.destroy();
    expect(await engine.wait(id)).toBe(0);
    expect((await engine.logs(id)).stdout).toBe('1\n2\n3\n4\n5\n');
  });

  // dockerd stalls the container instead.
  test.runIf(!onReference)('attach: a client that does not read does not stop the container', async () => {
    const id = await engine.create([
      'sh',
      '-c',
      'head -c 8000000 /dev/zero | tr "\\0" x; echo; echo done >&2',
    ]);
    const stream = await engine.http.hijack(`/containers/${id}/attach?stream=1&stdout=1&stderr=1`);
    stream.socket.pause();
    await engine.http.ok('POST', `/containers/${id}/start`);
    expect(await engine.wait(id)).toBe(0);
    stream.socket.destroy();
  });
});
