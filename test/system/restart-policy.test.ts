import { expect, test } from 'vitest';
import { describeEngine } from '../support/engine.ts';
import { sleep, until } from '../support/http.ts';

describeEngine('restart policy', (engine) => {
  test('on-failure: tries as often as allowed, then shows the last exit code', async () => {
    const id = await engine.start(['sh', '-c', 'echo try; exit 4'], {
      RestartPolicy: { Name: 'on-failure', MaximumRetryCount: 2 },
    });
    await until('the last attempt', async () => {
      const { State, RestartCount } = await engine.inspect(id);
      return State.Status === 'exited' && RestartCount === 2;
    });
    expect((await engine.inspect(id)).State.ExitCode).toBe(4);
    expect((await engine.logs(id)).stdout).toBe('try\ntry\ntry\n');
  });

  test('on-failure: success is the end', async () => {
    const { id } = await engine.run(['true'], {
      RestartPolicy: { Name: 'on-failure', MaximumRetryCount: 0 },
    });
    await sleep(500);
    expect(await engine.inspect(id)).toMatchObject({ RestartCount: 0, State: { Status: 'exited' } });
  });

  test('always: comes back after a success, with delays that double', async () => {
    const id = await engine.start(['true'], { RestartPolicy: { Name: 'always', MaximumRetryCount: 0 } });
    const started = performance.now();
    await until('four restarts', async () => (await engine.inspect(id)).RestartCount >= 4);
    // 100 + 200 + 400 ms: a restart counts from the exit on, before its delay.
    expect(performance.now() - started).toBeGreaterThan(690);
  });

  test('always: a stop asked for is a stop', async () => {
    const id = await engine.start(['sleep', '1000'], {
      RestartPolicy: { Name: 'always', MaximumRetryCount: 0 },
    });
    await engine.http.ok('POST', `/containers/${id}/stop?t=0`);
    await sleep(500);
    expect((await engine.inspect(id)).State).toMatchObject({ Status: 'exited', Restarting: false });
  });

  test('always: stop while it waits for its next attempt ends the attempts', async () => {
    const id = await engine.start(['false'], { RestartPolicy: { Name: 'always', MaximumRetryCount: 0 } });
    await until('some restarts', async () => (await engine.inspect(id)).RestartCount >= 2);
    await engine.http.request('POST', `/containers/${id}/stop?t=0`);
    await sleep(1000);
    const { RestartCount, State } = await engine.inspect(id);
    await sleep(1000);
    expect(await engine.inspect(id)).toMatchObject({ RestartCount, State: { Status: 'exited' } });
    expect(State.Running).toBe(false);
  });

  test.each([
    ['an unknown name', { Name: 'sometimes' }],
    ['a count with always', { Name: 'always', MaximumRetryCount: 3 }],
    ['a negative count', { Name: 'on-failure', MaximumRetryCount: -1 }],
  ])('create: %s is refused', async (_what, policy) => {
    const answer = await engine.http.request('POST', '/containers/create', {
      body: { Image: 'busybox', Cmd: ['true'], HostConfig: { RestartPolicy: policy } },
    });
    expect(answer.status).toBe(400);
  });

  test('create: auto-remove together with a restart policy is refused', async () => {
    const answer = await engine.http.request('POST', '/containers/create', {
      body: { Image: 'busybox', HostConfig: { AutoRemove: true, RestartPolicy: { Name: 'always' } } },
    });
    expect(answer.status).toBe(400);
  });
});
