import type { ExecInspect } from '../../../api/types/exec.ts';
import { expect, test } from 'vitest';
import { describeEngine } from '../../support/engine/engine.ts';
import { until } from '../../support/engine/http.ts';

describeEngine('exec', (engine) => {
  test('exec: output, error output and exit code', async () => {
    const id = await engine.start(['sleep', '1000']);
    expect(await engine.exec(id, ['sh', '-c', 'echo out; echo err >&2; exit 9'])).toEqual({
      stdout: 'out\n',
      stderr: 'err\n',
      exitCode: 9,
    });
  });

  test('exec: environment, user and folder of its own over those of the container', async () => {
    const id = await engine.start(['sleep', '1000'], {}, { Env: ['A=container', 'B=container'] });
    const { stdout } = await engine.exec(id, ['sh', '-c', 'echo $A $B; id -u; pwd'], {
      Env: ['A=exec'],
      User: '77',
      WorkingDir: '/tmp',
    });
    expect(stdout).toBe('exec container\n77\n/tmp\n');
  });

  test('exec: standard input and its end', async () => {
    const id = await engine.start(['sleep', '1000']);
    const { Id } = await engine.http.ok<{ Id: string }>('POST', `/containers/${id}/exec`, {
      AttachStdin: true,
      AttachStdout: true,
      Cmd: ['tr', 'a-z', 'A-Z'],
    });
    const stream = await engine.http.hijack(`/exec/${Id}/start`, { body: { Detach: false, Tty: false } });
    stream.socket.end('shout\n');
    expect((await stream.output()).stdout).toBe('SHOUT\n');
  });

  test('exec: a terminal with a size', async () => {
    const id = await engine.start(['sleep', '1000']);
    const { Id } = await engine.http.ok<{ Id: string }>('POST', `/containers/${id}/exec`, {
      AttachStdin: true,
      AttachStdout: true,
      Tty: true,
      Cmd: ['sh'],
    });
    const stream = await engine.http.hijack(`/exec/${Id}/start`, { body: { Detach: false, Tty: true } });
    await engine.http.ok('POST', `/exec/${Id}/resize?h=21&w=99`);
    stream.socket.write('stty size; exit 6\n');
    expect(await stream.raw()).toContain('21 99\r\n');
    const { ExitCode } = await engine.http.ok<{ ExitCode: number }>('GET', `/exec/${Id}/json`);
    expect(ExitCode).toBe(6);
  });

  test('exec: in frames or not, as the request to start says, not the one to create', async () => {
    const id = await engine.start(['sleep', '60']);
    const bytesOf = async (created: boolean, started: boolean): Promise<string> => {
      const { Id } = await engine.http.ok<{ Id: string }>('POST', `/containers/${id}/exec`, {
        AttachStdout: true,
        Tty: created,
        Cmd: ['echo', 'out'],
      });
      const body = { Detach: false, Tty: started };
      const { bytes } = await engine.http.request('POST', `/exec/${Id}/start`, { body });
      return bytes.toString('latin1');
    };
    expect([await bytesOf(true, true), await bytesOf(false, true)]).toEqual(['out\r\n', 'out\n']);
    expect(await bytesOf(true, false)).toBe('\u0001\0\0\0\0\0\0\u0005out\r\n');
    expect(await bytesOf(false, false)).toBe('\u0001\0\0\0\0\0\0\u0004out\n');
  });

  test('exec: detached, runs on and is inspected', async () => {
    const id = await engine.start(['sleep', '1000']);
    const { Id } = await engine.http.ok<{ Id: string }>('POST', `/containers/${id}/exec`, {
      Cmd: ['sh', '-c', 'until [ -e /go ]; do sleep 0.05; done; echo late >/proof; exit 2'],
    });
    await engine.http.ok('POST', `/exec/${Id}/start`, { Detach: true });
    const inspect = (): Promise<{ Running: boolean; ExitCode: number | null; ContainerID: string }> =>
      engine.http.ok('GET', `/exec/${Id}/json`);
    expect(await inspect()).toMatchObject({ Running: true, ContainerID: id });
    await engine.exec(id, ['touch', '/go']);
    await until('the exec to end', async () => !(await inspect()).Running);
    expect((await inspect()).ExitCode).toBe(2);
    expect((await engine.exec(id, ['cat', '/proof'])).stdout).toBe('late\n');
  });

  test('exec: a command that does not exist', async () => {
    const id = await engine.start(['sleep', '1000']);
    const { exitCode } = await engine.exec(id, ['/no/such']).catch(() => ({ exitCode: 'refused' }));
    expect(['refused', 126, 127]).toContain(exitCode);
  });

  test.each([
    ['a container that does not run', ['true'], 409],
    ['no command', [], 400],
  ])('exec: %s is refused', async (_what, command, status) => {
    const id = await (status === 409 ? engine.create(['true']) : engine.start(['sleep', '1000']));
    const answer = await engine.http.request('POST', `/containers/${id}/exec`, { body: { Cmd: command } });
    expect(answer.status).toBe(status);
  });

  test('exec: an id that was never given is 404', async () => {
    expect((await engine.http.request('GET', '/exec/feedbeef/json')).status).toBe(404);
  });

  test('exec: ten at once do not mix their output', async () => {
    const id = await engine.start(['sleep', '1000']);
    const outputs = await Promise.all(
      Array.from({ length: 10 }, (_, index) => engine.exec(id, ['sh', '-c', `sleep 0.1; echo ${index}`])),
    );
    expect(outputs.map(({ stdout }) => stdout)).toEqual(
      Array.from({ length: 10 }, (_, index) => `${index}\n`),
    );
  });

  test('exec: ends with its container', async () => {
    const id = await engine.start(['sleep', '1000']);
    const running = engine.exec(id, ['sleep', '1000']);
    // Listed from its creation on, but it runs only once it has a pid.
    await until('the exec to run', async () => {
      const [execId] = (await engine.inspect(id)).ExecIDs ?? [];
      const exec = execId && (await engine.http.ok<ExecInspect>('GET', `/exec/${execId}/json`));
      return exec !== undefined && exec !== '' && exec.Pid > 0;
    });
    await engine.http.ok('POST', `/containers/${id}/kill`);
    expect((await running).exitCode).toBe(137);
  });

  test('exec: those created and never started do not pile up', async () => {
    const id = await engine.start(['sleep', '1000']);
    for (let count = 0; count < 1030; count += 1) {
      await engine.http.ok('POST', `/containers/${id}/exec`, { Cmd: ['true'] });
    }
    expect((await engine.inspect(id)).ExecIDs).toHaveLength(1024);
    expect((await engine.exec(id, ['echo', 'still'])).stdout).toBe('still\n');
  });
});
