import { join } from 'node:path';
import { expect, test } from 'vitest';
import { kill } from '../../support/engine/cleanup.ts';
import { readDatabase } from '../../support/storage/database-copy.ts';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import { sleep, until } from '../../support/engine/http.ts';
import { differences } from '../../support/engine/oracle.ts';
import { processLink } from '../../support/process.ts';

const ALWAYS = { RestartPolicy: { Name: 'always', MaximumRetryCount: 0 } };

const namespace = (pid: number, kind: string): string => processLink(pid, `ns/${kind}`);

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

  test.each(['', '?condition=not-running', '?condition=next-exit'])(
    'wait%s: each end is one, whatever the policy does next',
    async (query) => {
      const id = await engine.start(['sh', '-c', 'while [ ! -e /go ]; do sleep 0.1; done; exit 3'], ALWAYS);
      const ended = engine.wait(id, query);
      await engine.exec(id, ['touch', '/go']);
      expect(await ended).toBe(3);
      // Between two attempts too it is the next end that is waited for.
      expect(await engine.wait(id, query)).toBe(3);
    },
  );

  test('always: comes back after a success, with delays that double', async () => {
    const started = performance.now();
    const id = await engine.start(['true'], { RestartPolicy: { Name: 'always', MaximumRetryCount: 0 } });
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

  /** A container that waits for an attempt which is far enough for a test to act before it. */
  async function waiting(): Promise<string> {
    const id = await engine.start(['false'], ALWAYS);
    // The pauses before them are 100, 200 and 400 ms; the next is 800, and later ones are longer.
    await until('the fourth pause', async () => {
      const { State, RestartCount } = await engine.inspect(id);
      return RestartCount >= 4 && State.Status === 'restarting';
    });
    return id;
  }

  test.each([
    ['stop', '/stop?t=0'],
    ['kill', '/kill'],
  ])(
    'R17: %s while it waits for its next attempt: stays stopped, no start afterwards',
    async (_verb, path) => {
      const id = await waiting();
      await engine.http.request('POST', `/containers/${id}${path}`);
      const { RestartCount } = await engine.untilState(id, 'exited');
      await sleep(1500);
      expect(await engine.inspect(id)).toMatchObject({
        RestartCount,
        State: { Status: 'exited', Running: false, Restarting: false },
      });
      expect((await engine.inspect(id)).State.Pid).toBe(0);
    },
  );

  test('R17: rm -f while it waits for its next attempt: gone, and stays gone', async () => {
    const id = await waiting();
    await engine.remove(id);
    await sleep(1200);
    expect(await engine.list()).toEqual([]);
    if (!onReference) {
      await expect.poll(() => differences(engine.daemon)).toEqual([]);
    }
  });

  // dockerd 20.10 refuses it while its attempt is near.
  test.runIf(!onReference)(
    'R17: rename while it waits: the attempt is made, under the new name',
    async () => {
      const id = await waiting();
      const { RestartCount } = await engine.inspect(id);
      await engine.http.ok('POST', `/containers/${id}/rename?name=renamed`);
      await until('the attempt', async () => (await engine.inspect('renamed')).RestartCount > RestartCount);
    },
  );

  test('R17: update to no policy while it waits: no restart after the next end', async () => {
    const id = await waiting();
    await engine.http.ok('POST', `/containers/${id}/update`, { RestartPolicy: { Name: 'no' } });
    const { RestartCount } = await engine.untilState(id, 'exited');
    await sleep(1800);
    expect(await engine.inspect(id)).toMatchObject({ RestartCount, State: { Status: 'exited' } });
  });

  test('R17: start while it waits: counts as started, the attempt is made once', async () => {
    const id = await waiting();
    const answer = await engine.http.request('POST', `/containers/${id}/start`);
    expect([204, 304]).toContain(answer.status);
    await until('the attempt', async () => (await engine.inspect(id)).RestartCount > 4 || !onReference);
  });

  test.runIf(!onReference)('back-off is reset by a run of ten seconds', async () => {
    const script =
      'n=$(cat /n || echo 0); echo $((n+1)) >/n; echo run $n; ' +
      '[ $n = 4 ] && exec sleep 1000; [ $n = 3 ] && sleep 10.2; exit 1';
    const id = await engine.start(['sh', '-c', script], ALWAYS);
    await until('the fifth run', async () => (await engine.logs(id)).stdout.includes('run 4'));
    // The pauses were 100, 200 and 400 ms; then came the long run, and 100 again instead of 800.
    const delay = readDatabase(join(engine.daemon.paths.dataRoot, 'berth.db'), (database) =>
      database
        .prepare(
          "SELECT json_extract(state, '$.restartDelayMs') FROM container_states WHERE container_id = ?",
        )
        .pluck()
        .get(id),
    );
    expect(delay).toBe(100);
  });

  // dockerd ends its containers with itself unless live-restore is set.
  test.runIf(!onReference).each([
    ['always', true, 'running'],
    ['always', false, 'running'],
    ['unless-stopped', true, 'exited'],
    ['unless-stopped', false, 'running'],
    ['on-failure', true, 'exited'],
    ['on-failure', false, 'running'],
    ['no', false, 'exited'],
  ])(
    '%s, stopped by a person %j: %s after the next start of the daemon',
    async (Name, isStopped, expected) => {
      const id = await engine.start(['sleep', '1000'], { RestartPolicy: { Name, MaximumRetryCount: 0 } });
      const { Pid } = (await engine.inspect(id)).State;
      if (isStopped) {
        await engine.http.ok('POST', `/containers/${id}/stop?t=0`);
      }
      await engine.daemon.kill9();
      if (!isStopped) {
        kill(Pid);
      }
      await engine.daemon.up();
      await engine.untilState(id, expected);
      await sleep(300);
      expect((await engine.inspect(id)).State.Status).toBe(expected);
    },
  );

  test.runIf(!onReference)('containers that join another one come up after it', async () => {
    const donor = await engine.start(['sleep', '1000'], {
      ...ALWAYS,
      NetworkMode: 'bridge',
      IpcMode: 'shareable',
    });
    const guests = [
      await engine.start(['sleep', '1000'], { ...ALWAYS, NetworkMode: `container:${donor}` }),
      await engine.start(['sleep', '1000'], { ...ALWAYS, PidMode: `container:${donor}` }),
      await engine.start(['sleep', '1000'], { ...ALWAYS, IpcMode: `container:${donor}` }),
    ];
    const pids = await Promise.all(
      [donor, ...guests].map(async (id) => (await engine.inspect(id)).State.Pid),
    );
    await engine.daemon.kill9();
    // With the first process of a pid namespace go all others in it.
    pids.forEach(kill);
    await engine.daemon.up();
    for (const id of [donor, ...guests]) {
      expect((await engine.untilState(id, 'running')).State.Error).toBe('');
    }
    const { Pid } = (await engine.inspect(donor)).State;
    const joined = await Promise.all(guests.map(async (id) => (await engine.inspect(id)).State.Pid));
    expect(['net', 'pid', 'ipc'].map((kind, index) => namespace(joined[index] ?? 0, kind))).toEqual(
      ['net', 'pid', 'ipc'].map((kind) => namespace(Pid, kind)),
    );
    await expect.poll(() => differences(engine.daemon)).toEqual([]);
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
