import { expect, test } from 'vitest';
import { describeEngine } from '../../support/engine/engine.ts';

describeEngine('run', (engine) => {
  test('run: gives back exit code and both streams', async () => {
    const result = await engine.run(['sh', '-c', 'echo out; echo err >&2; exit 3']);
    expect(result).toMatchObject({ exitCode: 3, stdout: 'out\n', stderr: 'err\n' });
  });

  test.each([
    ['a stop signal', ['sh', '-c', 'trap "" TERM; kill -15 $$; exit 7'], 7],
    ['success', ['true'], 0],
    ['the largest code', ['sh', '-c', 'exit 255'], 255],
  ])('run: exit code of %s', async (_what, command, code) => {
    expect((await engine.run(command)).exitCode).toBe(code);
  });

  test.each([
    ['a missing command', ['/no/such/file'], 127],
    ['a command that is a folder', ['/etc'], 126],
    ['a file that is not executable', ['/etc/passwd'], 126],
  ])('start: %s is refused with 400 and kept as exit code', async (_what, command, code) => {
    const id = await engine.create(command);
    const answer = await engine.http.request('POST', `/containers/${id}/start`);
    expect(answer.status).toBe(400);
    const { State } = await engine.inspect(id);
    expect(State).toMatchObject({ Status: 'created', Running: false, ExitCode: code, Pid: 0 });
    expect(State.Error).not.toBe('');
  });

  test('start: a container that runs answers 304', async () => {
    const id = await engine.start(['sleep', '1000']);
    expect((await engine.http.request('POST', `/containers/${id}/start`)).status).toBe(304);
  });

  test('start: an ended container runs again in the same file system', async () => {
    const id = await engine.start(['sh', '-c', 'echo x >>/count; wc -l </count']);
    await engine.wait(id);
    await engine.http.ok('POST', `/containers/${id}/start`);
    await engine.wait(id);
    expect((await engine.logs(id)).stdout).toBe('1\n2\n');
  });

  test('create: environment, working directory, user, host name and entrypoint reach the process', async () => {
    const { stdout } = await engine.run(
      ['env; pwd; id -u; id -g; hostname'],
      {},
      {
        Entrypoint: ['sh', '-c'],
        Env: ['COLOUR=blue', 'EMPTY='],
        WorkingDir: '/made/for/it',
        User: '1234:5678',
        Hostname: 'harbour',
      },
    );
    const lines = stdout.trim().split('\n');
    expect(lines.slice(-4)).toEqual(['/made/for/it', '1234', '5678', 'harbour']);
    expect(lines).toEqual(expect.arrayContaining(['COLOUR=blue', 'EMPTY=', 'HOSTNAME=harbour']));
  });

  test('create: a user of the image is found by name', async () => {
    const { stdout } = await engine.run(['id', '-un'], {}, { User: 'root' });
    expect(stdout).toBe('root\n');
  });

  test('create: an unknown user fails at start and leaves the container as created', async () => {
    const id = await engine.create(['true'], {}, { User: 'nobody-knows' });
    const answer = await engine.http.request('POST', `/containers/${id}/start`);
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.text).toContain('nobody-knows');
    expect((await engine.inspect(id)).State.Status).toBe('created');
  });

  test('create: an unknown image is 404 with the text that makes clients pull', async () => {
    const answer = await engine.http.request('POST', '/containers/create', {
      body: { Image: 'never/was:1', Cmd: ['true'] },
    });
    expect([answer.status, answer.json]).toEqual([404, { message: 'No such image: never/was:1' }]);
  });

  test('wait: several clients get the same answer, one that comes late too', async () => {
    const id = await engine.start(['sh', '-c', 'sleep 0.3; exit 5']);
    const early = await Promise.all([engine.wait(id), engine.wait(id)]);
    expect([...early, await engine.wait(id)]).toEqual([5, 5, 5]);
  });

  test('wait: next-exit passes over an exit that was, headers come at once', async () => {
    const id = await engine.start(['true']);
    await engine.wait(id);
    const response = await engine.http.open('POST', `/containers/${id}/wait?condition=next-exit`);
    expect(response.statusCode).toBe(200);
    await engine.http.ok('POST', `/containers/${id}/start`);
    const chunks: Buffer[] = [];
    for await (const chunk of response) {
      chunks.push(Buffer.from(chunk));
    }
    expect(JSON.parse(Buffer.concat(chunks).toString())).toMatchObject({ StatusCode: 0 });
  });

  test('run: eight at a time all end as they should', async () => {
    const codes = await Promise.all(
      Array.from(
        { length: 8 },
        async (_, index) => (await engine.run(['sh', '-c', `exit ${index}`])).exitCode,
      ),
    );
    expect(codes).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  test('inspect: times are in order and the pid is a live process while it runs', async () => {
    const id = await engine.start(['sleep', '1000']);
    const { State, Created } = await engine.inspect(id);
    expect(State).toMatchObject({ Status: 'running', Running: true, FinishedAt: '0001-01-01T00:00:00Z' });
    expect(Date.parse(State.StartedAt)).toBeGreaterThanOrEqual(Date.parse(Created));
    expect(() => process.kill(State.Pid, 0)).not.toThrow();
  });
});
