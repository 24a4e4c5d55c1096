import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { HostConfig } from '../../../api/types/host-config.ts';
import { describeEngine, onReference, type Engine } from '../../support/engine/engine.ts';
import { sleep, until } from '../../support/engine/http.ts';

/** Counts into a file of the host: of output its monitor may have read some before the pause and write it after. */
function counter(engine: Engine): [command: string[], host: HostConfig, count: () => string] {
  const folder = mkdtempSync(`${engine.daemon.paths.root}/count-`);
  const script = 'i=0; while :; do i=$((i+1)); echo $i >>/count/file; sleep 0.02; done';
  const file = `${folder}/file`;
  const count = (): string => (existsSync(file) ? readFileSync(file, 'utf8') : '');
  return [['sh', '-c', script], { Binds: [`${folder}:/count`] }, count];
}

describeEngine('pause and unpause', (engine) => {
  const post = async (id: string, verb: string): Promise<[number, string]> => {
    const { status, json } = await engine.http.request('POST', `/containers/${id}/${verb}`);
    return [status, (json as { message?: string } | undefined)?.message ?? ''];
  };
  const paused = async (command = ['sleep', '1000'], host: HostConfig = {}): Promise<string> => {
    const id = await engine.start(command, host);
    await engine.http.ok('POST', `/containers/${id}/pause`);
    return id;
  };

  test('pause: nothing in the container goes on, until unpause', async () => {
    const [command, host, count] = counter(engine);
    const id = await engine.start(command, host);
    await until('the first lines', () => count().length > 5);
    expect(await post(id, 'pause')).toEqual([204, '']);
    expect((await engine.inspect(id)).State).toMatchObject({
      Status: 'paused',
      Running: true,
      Paused: true,
    });
    const before = count();
    await sleep(200);
    expect(count()).toBe(before);
    expect(await post(id, 'unpause')).toEqual([204, '']);
    expect((await engine.inspect(id)).State).toMatchObject({
      Status: 'running',
      Running: true,
      Paused: false,
    });
    await until('more lines', () => count() !== before);
  });

  test('pause: the list shows it, and finds it by its status', async () => {
    const id = await paused();
    const filters = encodeURIComponent(JSON.stringify({ status: ['paused'] }));
    const found = await engine.list(`?filters=${filters}`);
    expect(found.map(({ Id, State, Status }) => [Id, State, Status.replace(/^Up .* \(/, 'Up (')])).toEqual([
      [id, 'paused', 'Up (Paused)'],
    ]);
  });

  test('pause, unpause: tell events', async () => {
    const since = (Date.now() - 1) / 1000;
    const id = await paused();
    await engine.http.ok('POST', `/containers/${id}/unpause`);
    const filters = encodeURIComponent(
      JSON.stringify({ container: [id], event: ['pause', 'unpause', 'die'] }),
    );
    const until_ = (Date.now() + 1) / 1000;
    const { text } = await engine.http.request(
      'GET',
      `/events?since=${since}&until=${until_}&filters=${filters}`,
    );
    const actions = text
      .split('\n')
      .filter(Boolean)
      .map((line) => (JSON.parse(line) as { Action: string }).Action);
    expect(actions).toEqual(['pause', 'unpause']);
  });

  test('pause: what is not running is refused', async () => {
    const id = await engine.create(['true']);
    expect(await post(id, 'pause')).toEqual([409, `Container ${id} is not running`]);
    expect((await post('nobody', 'pause'))[0]).toBe(404);
    expect((await post('nobody', 'unpause'))[0]).toBe(404);
  });

  test('pause: what is paused is refused', async () => {
    const id = await paused();
    expect(await post(id, 'pause')).toEqual([409, `Container ${id} is already paused`]);
  });

  // dockerd calls this one a fault of its own: 500.
  test('unpause: what is not paused is refused', async () => {
    const id = await engine.start(['sleep', '1000']);
    expect(await post(id, 'unpause')).toEqual([onReference ? 500 : 409, `Container ${id} is not paused`]);
  });

  test('R21: exec in a paused container is refused', async () => {
    const id = await paused();
    const answer = await engine.http.request('POST', `/containers/${id}/exec`, {
      body: { Cmd: ['true'] },
    });
    expect([answer.status, answer.json]).toEqual([
      409,
      { message: `Container ${id} is paused, unpause the container before exec` },
    ]);
  });

  test('exec: one that was made before the pause is refused at its start', async () => {
    const id = await engine.start(['sleep', '1000']);
    const exec = await engine.http.ok<{ Id: string }>('POST', `/containers/${id}/exec`, { Cmd: ['true'] });
    await engine.http.ok('POST', `/containers/${id}/pause`);
    const { status } = await engine.http.request('POST', `/exec/${exec.Id}/start`, {
      body: { Detach: true },
    });
    expect(status).toBe(409);
  });

  test('attach, start: a paused container is refused', async () => {
    const id = await paused();
    const attach = await engine.http.request('POST', `/containers/${id}/attach?stream=1&stdout=1`);
    expect([attach.status, attach.text]).toEqual([
      409,
      expect.stringContaining(`container ${id} is paused, unpause the container before attach`),
    ]);
    expect(await post(id, 'start')).toEqual([409, expect.stringContaining('paused, unpause')]);
  });

  test('stop: a paused container ends by its stop signal, without waiting for the time-out', async () => {
    const id = await engine.start([
      'sh',
      '-c',
      'trap "exit 7" TERM; echo ready; while :; do sleep 0.05; done',
    ]);
    await until('the trap to be set', async () => (await engine.logs(id)).stdout.includes('ready'));
    await engine.http.ok('POST', `/containers/${id}/pause`);
    const started = performance.now();
    expect(await post(id, 'stop?t=120')).toEqual([204, '']);
    expect(performance.now() - started).toBeLessThan(30_000);
    expect((await engine.inspect(id)).State).toMatchObject({ Status: 'exited', ExitCode: 7, Paused: false });
  });

  test('kill: a paused container ends', async () => {
    const id = await paused();
    expect(await post(id, 'kill')).toEqual([204, '']);
    expect(await engine.wait(id)).toBe(137);
  });

  test('kill: another signal waits until unpause', async () => {
    // dockerd thaws for any signal unless the container names its own stop signal.
    const id = await engine.start(
      ['sh', '-c', 'trap "exit 9" USR1; echo ready; while :; do sleep 0.05; done'],
      {},
      { StopSignal: 'SIGTERM' },
    );
    await until('the trap to be set', async () => (await engine.logs(id)).stdout.includes('ready'));
    await engine.http.ok('POST', `/containers/${id}/pause`);
    expect(await post(id, 'kill?signal=USR1')).toEqual([204, '']);
    expect((await engine.inspect(id)).State.Status).toBe('paused');
    await engine.http.ok('POST', `/containers/${id}/unpause`);
    expect(await engine.wait(id)).toBe(9);
  });

  test('restart: a paused container runs again', async () => {
    const id = await paused();
    expect((await post(id, 'restart?t=0'))[0]).toBe(204);
    expect((await engine.inspect(id)).State).toMatchObject({ Status: 'running', Paused: false });
  });

  test('remove: a paused container is refused, and goes with force', async () => {
    const id = await paused();
    const answer = await engine.http.request('DELETE', `/containers/${id}`);
    expect([answer.status, answer.text]).toEqual([409, expect.stringContaining('paused container')]);
    expect((await engine.http.request('DELETE', `/containers/${id}?force=1`)).status).toBe(204);
  });

  test.runIf(!onReference)('daemon: a paused container is paused after kill -9 and restart', async () => {
    const [command, host, count] = counter(engine);
    const id = await paused(command, host);
    await engine.daemon.restart();
    expect((await engine.inspect(id)).State.Status).toBe('paused');
    const before = count();
    await sleep(200);
    expect(count()).toBe(before);
    await engine.http.ok('POST', `/containers/${id}/unpause`);
    await until('more lines', () => count() !== before);
  });
});
