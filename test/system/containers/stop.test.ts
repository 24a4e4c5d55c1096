import { expect, test } from 'vitest';
import { describeEngine } from '../../support/engine/engine.ts';
import { until } from '../../support/engine/http.ts';

const TRAP = (signal: string, code: number): string[] => [
  'sh',
  '-c',
  `trap 'exit ${code}' ${signal}; echo ready; while :; do sleep 0.05; done`,
];
const DEAF = ['sh', '-c', 'trap "" TERM; echo ready; while :; do sleep 0.05; done'];

describeEngine('stop, kill and restart', (engine) => {
  const ready = (id: string): Promise<void> =>
    until('the trap to be set', async () => (await engine.logs(id)).stdout.includes('ready'));

  test('stop: sends the stop signal and waits for the end', async () => {
    const id = await engine.start(TRAP('TERM', 3));
    await ready(id);
    expect((await engine.http.request('POST', `/containers/${id}/stop`)).status).toBe(204);
    expect((await engine.inspect(id)).State).toMatchObject({ Status: 'exited', ExitCode: 3 });
  });

  test('stop: kills after the time asked for', async () => {
    const id = await engine.start(DEAF);
    await ready(id);
    const started = performance.now();
    await engine.http.ok('POST', `/containers/${id}/stop?t=1`);
    expect(performance.now() - started).toBeGreaterThan(900);
    expect((await engine.inspect(id)).State.ExitCode).toBe(137);
  });

  test('stop: uses the stop signal of the container', async () => {
    const id = await engine.start(TRAP('USR1', 8), {}, { StopSignal: 'SIGUSR1' });
    await ready(id);
    await engine.http.ok('POST', `/containers/${id}/stop`);
    expect((await engine.inspect(id)).State.ExitCode).toBe(8);
  });

  test('stop: a container that does not run answers 304', async () => {
    const id = await engine.create(['true']);
    expect((await engine.http.request('POST', `/containers/${id}/stop`)).status).toBe(304);
  });

  test.each([
    ['SIGUSR2', 12],
    ['usr2', 12],
    ['12', 12],
  ])('kill: signal=%s arrives', async (signal) => {
    const id = await engine.start(TRAP('USR2', 12));
    await ready(id);
    expect((await engine.http.request('POST', `/containers/${id}/kill?signal=${signal}`)).status).toBe(204);
    expect(await engine.wait(id)).toBe(12);
  });

  test('kill: without a signal is SIGKILL', async () => {
    const id = await engine.start(['sleep', '1000']);
    await engine.http.ok('POST', `/containers/${id}/kill`);
    expect(await engine.wait(id)).toBe(137);
  });

  test.each([
    ['a container that does not run', 'create', 'KILL', 409],
    ['an unknown signal', 'start', 'NOPE', 400],
  ] as const)('kill: %s is refused', async (_what, verb, signal, status) => {
    const id = await engine[verb](['sleep', '1000']);
    expect((await engine.http.request('POST', `/containers/${id}/kill?signal=${signal}`)).status).toBe(
      status,
    );
  });

  test('kill: takes everything the container started with it', async () => {
    const id = await engine.start(['sh', '-c', 'for i in 1 2 3; do sleep 1000 & done; echo ready; wait']);
    await ready(id);
    await engine.http.ok('POST', `/containers/${id}/kill`);
    await engine.wait(id);
    expect((await engine.inspect(id)).State).toMatchObject({ Running: false, Pid: 0 });
  });

  test('restart: ends and starts again, with a new pid', async () => {
    const id = await engine.start(['sleep', '1000']);
    const before = await engine.inspect(id);
    await engine.http.ok('POST', `/containers/${id}/restart?t=0`);
    const after = await engine.inspect(id);
    expect(after.State.Running).toBe(true);
    expect(after.State.Pid).not.toBe(before.State.Pid);
    expect(after.RestartCount).toBe(0);
  });

  test('restart: starts a container that was ended', async () => {
    const { id } = await engine.run(['true']);
    await engine.http.ok('POST', `/containers/${id}/restart`);
    expect(await engine.wait(id)).toBe(0);
  });
});
