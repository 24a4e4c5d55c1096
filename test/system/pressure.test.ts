import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { describeEngine, onReference } from '../support/engine.ts';
import { until } from '../support/http.ts';

const MB = 1024 * 1024;

function score(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/oom_score_adj`, 'utf8'));
}

describeEngine('containers that take all they can', (engine) => {
  /** The engine answers, and starts something, while `id` does its worst. */
  const isAlive = async (): Promise<void> => {
    const started = performance.now();
    expect((await engine.http.request('GET', '/_ping')).status).toBe(200);
    const { exitCode } = await engine.run(['true']);
    expect(exitCode).toBe(0);
    expect(performance.now() - started).toBeLessThan(15_000);
  };

  test.each([
    ['a fork bomb', ['sh', '-c', 'f() { f | f & }; while :; do f; done'], { PidsLimit: 64 }],
    [
      'a memory hog',
      ['sh', '-c', 'while :; do (a=x; while :; do a=$a$a; done); done'],
      { Memory: 32 * MB, MemorySwap: 32 * MB },
    ],
    [
      'a hog of descriptors',
      ['sh', '-c', 'i=3; while [ $i -lt 100000 ]; do eval "exec $i</dev/null" || sleep 1; i=$((i+1)); done'],
      { Ulimits: [{ Name: 'nofile', Soft: 1024, Hard: 1024 }] },
    ],
  ])('%s: the engine answers, and ends it', async (_what, command, host) => {
    const id = await engine.start(command, host);
    await isAlive();
    expect((await engine.http.request('DELETE', `/containers/${id}?force=1`)).status).toBe(204);
    await isAlive();
  });

  test('a container that uses up its processes is told to whoever looks', async () => {
    const id = await engine.start(['sh', '-c', 'for i in $(seq 30); do sleep 1000 & done; wait'], {
      PidsLimit: 32,
    });
    await until('its limit', async () => {
      const stats = await engine.http.ok<{ pids_stats: { current?: number } }>(
        'GET',
        `/containers/${id}/stats?stream=0&one-shot=1`,
      );
      return (stats.pids_stats.current ?? 0) >= 30;
    });
    expect((await engine.http.request('GET', `/containers/${id}/top`)).status).toBe(200);
  });

  test.runIf(!onReference)(
    'the kernel takes a container before the daemon that can start it again',
    async () => {
      const id = await engine.start(['sleep', '1000']);
      const { State } = await engine.inspect(id);
      expect(score(State.Pid)).toBeGreaterThanOrEqual(score(engine.daemon.pid));
    },
  );
});

describeEngine('verbs whose client does not wait', (engine) => {
  test('stop: completes although its client has gone', async () => {
    const id = await engine.start(['sh', '-c', 'trap "" TERM; while :; do sleep 0.05; done']);
    const client = new AbortController();
    const asked = engine.http.request('POST', `/containers/${id}/stop?t=1`, { signal: client.signal });
    setTimeout(() => client.abort(), 100);
    await expect(asked).rejects.toThrow();
    await engine.untilState(id, 'exited', 8000);
  });

  test('exec: in a container that is being stopped is answered, and does not keep it', async () => {
    const id = await engine.start(['sh', '-c', 'trap "" TERM; while :; do sleep 0.05; done']);
    const stopped = engine.http.request('POST', `/containers/${id}/stop?t=1`);
    const statuses: number[] = [];
    const state = { isOver: false };
    const over = (async () => {
      await stopped;
      state.isOver = true;
    })();
    while (!state.isOver) {
      const signal = AbortSignal.timeout(15_000);
      const made = await engine.http.request('POST', `/containers/${id}/exec`, {
        body: { Cmd: ['true'] },
        signal,
      });
      statuses.push(made.status);
      if (made.status === 201) {
        const { Id } = made.json as { Id: string };
        const begun = await engine.http.request('POST', `/exec/${Id}/start`, {
          body: { Detach: true },
          signal,
        });
        statuses.push(begun.status);
      }
    }
    await over;
    expect((await stopped).status).toBe(204);
    // One that was on its way in when the container ended may say so in any of these words.
    expect(statuses.filter((status) => ![200, 201, 409, 400, 500].includes(status))).toEqual([]);
    const late = await engine.http.request('POST', `/containers/${id}/exec`, { body: { Cmd: ['true'] } });
    expect([late.status, late.json]).toEqual([409, { message: `Container ${id} is not running` }]);
  });

  test('list: two hundred a second while containers are made are answered', async () => {
    const started = performance.now();
    const lists: Promise<{ status: number }>[] = [];
    const made: Promise<string>[] = [];
    for (let tick = 0; tick < 40; tick += 1) {
      for (let index = 0; index < 10; index += 1) {
        lists.push(engine.http.request('GET', '/containers/json?all=1'));
      }
      made.push(engine.create(['true']));
      await new Promise((resolve) => {
        setTimeout(resolve, 50);
      });
    }
    const answers = await Promise.all(lists);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    await Promise.all(made);
    expect(await engine.list()).toHaveLength(40);
    expect(performance.now() - started).toBeLessThan(20_000);
  });
});
