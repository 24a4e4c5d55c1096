import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { takeLoopDelay } from '../../../scripts/bench/loop-delay.ts';
import type { ExecInspect } from '../../../api/types/exec.ts';
import { describeEngine, onReference, type Engine } from '../../support/engine/engine.ts';
import { cgroupDirectories, kill } from '../../support/engine/cleanup.ts';
import { until } from '../../support/engine/http.ts';

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
    expect(performance.now() - started).toBeLessThan(40_000);
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
  ])('R59: %s: the engine answers, and ends it', async (_what, command, host) => {
    const id = await engine.start(command, host);
    await isAlive();
    expect((await engine.http.request('DELETE', `/containers/${id}?force=1`)).status).toBe(204);
    await isAlive();
  });

  test.runIf(!onReference)(
    'R59: a fork bomb without a limit of its own: the engine answers, and ends it',
    async () => {
      // Bounded all the same, for the sake of whoever else is on this machine.
      await engine.run(['true']);
      const limited =
        cgroupDirectories(engine.daemon.cgroupParent).findLast((name) =>
          existsSync(path.join(name, 'pids.max')),
        ) ?? '';
      writeFileSync(path.join(limited, 'pids.max'), '400');
      // A shell that is asked line by line goes on when it may not fork; any other ends then.
      const bomb = `yes 'f() { f | f & }; f' | sh -i >/dev/null 2>&1 & exec sleep 1000`;
      const id = await engine.start(['sh', '-c', bomb]);
      // With those that nobody reaps: they fill the limit, and once they do few are left that live.
      await until('many processes', () => Number(readFileSync(path.join(limited, 'pids.current'))) > 100);
      expect((await engine.http.request('GET', '/_ping')).status).toBe(200);
      expect((await engine.http.request('DELETE', `/containers/${id}?force=1`)).status).toBe(204);
      writeFileSync(path.join(limited, 'pids.max'), 'max');
      await isAlive();
    },
  );

  test('R59: a container that uses up its processes is told to whoever looks', async () => {
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
    'R59: the kernel takes a container before the daemon that can start it again',
    async () => {
      const id = await engine.start(['sleep', '1000']);
      const { State } = await engine.inspect(id);
      expect(score(State.Pid)).toBeGreaterThanOrEqual(score(engine.daemon.pid));
    },
  );
});

const watched = { watchLoop: true };

describeEngine(
  'verbs whose client does not wait',
  (engine) => {
    test('R15: stop completes although its client has gone', async () => {
      const id = await engine.start(['sh', '-c', 'trap "" TERM; while :; do sleep 0.05; done']);
      const client = new AbortController();
      const asked = engine.http.request('POST', `/containers/${id}/stop?t=1`, { signal: client.signal });
      setTimeout(() => client.abort(), 100);
      // On a busy machine the answer may be there before this client gets to go.
      await asked.catch(() => undefined);
      await engine.untilState(id, 'exited');
    });

    test('R15: stop with a negative time-out waits until the container ends by itself', async () => {
      const id = await engine.start(['sh', '-c', 'trap "" TERM; while :; do sleep 0.05; done']);
      const stopped = engine.http.request('POST', `/containers/${id}/stop?t=-1`);
      await until('the signal', async () => (await actionsOf(engine, id)).includes('kill'));
      const { State } = await engine.inspect(id);
      expect(State.Running).toBe(true);
      kill(State.Pid);
      expect((await stopped).status).toBe(204);
    });

    test('R21: execs that fail have an end, and are not counted among those that run', async () => {
      const id = await engine.start(['sleep', '1000']);
      for (let round = 0; round < 3; round += 1) {
        const { Id } = await engine.http.ok<{ Id: string }>('POST', `/containers/${id}/exec`, {
          Cmd: ['/no/such'],
          Tty: round === 1,
        });
        await engine.http.request('POST', `/exec/${Id}/start`, { body: { Detach: round > 0 } });
        const { Running, ExitCode } = await engine.http.ok<ExecInspect>('GET', `/exec/${Id}/json`);
        expect([Running, ExitCode]).toEqual([false, onReference ? 126 : 127]);
      }
      expect((await engine.inspect(id)).ExecIDs).toBe(null);
    });

    test('R21: exec in a container that is being stopped is answered, and does not keep it', async () => {
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
      // One that was on its way in when the container ended may say so in any of these words; execs end with it (404).
      expect(statuses.filter((status) => ![200, 201, 409, 400, 404, 500].includes(status))).toEqual([]);
      const late = await engine.http.request('POST', `/containers/${id}/exec`, { body: { Cmd: ['true'] } });
      expect([late.status, late.json]).toEqual([409, { message: `Container ${id} is not running` }]);
    });

    test('R23: lists, two hundred a second while containers are made, are answered', async () => {
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
      if (!onReference) {
        // On a machine that is as busy as can be; alone it is a tenth of that (npm run bench).
        expect((await takeLoopDelay(engine.daemon)).p99Ms).toBeLessThan(1000);
      }
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
      await Promise.all(made);
      expect(await engine.list()).toHaveLength(40);
      expect(performance.now() - started).toBeLessThan(40_000);
    });
  },
  watched,
);

/** Actions of a container's events so far, the commands of execs left out. */
async function actionsOf(engine: Engine, id: string): Promise<string[]> {
  const filters = encodeURIComponent(JSON.stringify({ container: [id], type: ['container'] }));
  const query = `since=0&until=${(Date.now() + 1) / 1000}&filters=${filters}`;
  const { text } = await engine.http.request('GET', `/events?${query}`);
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => (JSON.parse(line) as { Action: string }).Action.replace(/:.*/, ''));
}
