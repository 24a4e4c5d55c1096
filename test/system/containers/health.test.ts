import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import type { ContainerInspect, HealthConfig } from '../../../api/types/container.ts';
import type { HostConfig } from '../../../api/types/host-config.ts';
import { pidsInCgroup, processes } from '../../support/engine/cleanup.ts';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import type { Engine } from '../../support/engine/engine.ts';
import { jsonLines, sleep, until } from '../../support/engine/http.ts';
import { busyboxImageTar } from '../../support/images/images.ts';
import { WAIT_MS } from '../../support/patience.ts';
import { processFile } from '../../support/process.ts';

const MS = 1e6;
/** A container that is ill as long as the file /ill exists. */
const FILE_CHECK: HealthConfig = {
  Test: ['CMD-SHELL', 'echo looked; test ! -e /ill'],
  Interval: 150 * MS,
  Retries: 2,
};

type State = ContainerInspect['State'];

async function untilHealth(engine: Engine, id: string, status: string): Promise<State> {
  let state: State | undefined;
  await until(`${id.slice(0, 12)} to be ${status}`, async () => {
    state = (await engine.inspect(id)).State;
    return state.Health?.Status === status;
  });
  return state!;
}

const ill = (engine: Engine, id: string): Promise<unknown> => engine.exec(id, ['touch', '/ill']);

/** FILE_CHECK that says nothing while there is a file `closed` in the folder `gate` of the host. */
function gated(gate: string): [HostConfig, { Healthcheck: HealthConfig }] {
  const Test = ['CMD-SHELL', 'while test -e /gate/closed; do sleep 0.05; done; echo looked; test ! -e /ill'];
  return [{ Binds: [`${gate}:/gate`] }, { Healthcheck: { ...FILE_CHECK, Test } }];
}

function closeGate(engine: Engine): string {
  const gate = `${engine.daemon.paths.root}/gate`;
  mkdirSync(gate, { recursive: true });
  writeFileSync(`${gate}/closed`, '');
  return gate;
}

/** Actions told live while `act` runs, up to this one. */
async function watch(engine: Engine, last: string, act: () => Promise<void>): Promise<string[]> {
  const abort = new AbortController();
  const filters = encodeURIComponent(JSON.stringify({ type: ['container'] }));
  const response = await engine.http.open('GET', `/events?filters=${filters}`, { signal: abort.signal });
  let text = '';
  response.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  // Aborting is how this client says good-bye.
  response.on('error', () => undefined);
  await act();
  await until(last, () => text.includes(last) && text.endsWith('\n'));
  abort.abort();
  return jsonLines(text).map((event) => (event as { Action: string }).Action);
}

describeEngine('health', (engine) => {
  test('starting, healthy, unhealthy, healthy again: inspect, list, filter and events', async () => {
    let id = '';
    const gate = closeGate(engine);
    const [host, more] = gated(gate);
    const command = more.Healthcheck.Test?.[1];
    const actions = await watch(engine, 'health_status: healthy', async () => {
      id = await engine.start(['sleep', '1000'], host, more);
      const { Health, Status } = (await engine.inspect(id)).State;
      expect([Status, Health]).toEqual(['running', { Status: 'starting', FailingStreak: 0, Log: [] }]);
      expect((await engine.list())[0]?.Status).toMatch(/^Up .* \(health: starting\)$/);
      rmSync(`${gate}/closed`);
      await untilHealth(engine, id, 'healthy');
    });
    expect(actions.slice(0, 6)).toEqual([
      'create',
      'start',
      `exec_create: /bin/sh -c ${command}`,
      `exec_start: /bin/sh -c ${command}`,
      'exec_die',
      'health_status: healthy',
    ]);
    expect((await engine.list())[0]?.Status).toMatch(/^Up .* \(healthy\)$/);
    await ill(engine, id);
    const { Health } = await untilHealth(engine, id, 'unhealthy');
    expect(Health?.FailingStreak).toBeGreaterThanOrEqual(2);
    expect(Health?.Log.at(-1)).toMatchObject({ ExitCode: 1, Output: 'looked\n' });
    expect(Date.parse(Health?.Log.at(-1)?.End ?? '')).toBeGreaterThan(
      Date.parse(Health?.Log.at(-1)?.Start ?? ''),
    );
    const healthy = encodeURIComponent(JSON.stringify({ health: ['unhealthy'] }));
    expect(await engine.list(`?filters=${healthy}`)).toMatchObject([{ Id: id }]);
    await engine.exec(id, ['rm', '/ill']);
    expect((await untilHealth(engine, id, 'healthy')).Health?.FailingStreak).toBe(0);
    const log = async (): Promise<unknown[]> => (await engine.inspect(id)).State.Health?.Log ?? [];
    await until('five results', async () => (await log()).length >= 5);
    const last = (await log()).at(-1);
    await until('another', async () => !isDeepStrictEqual((await log()).at(-1), last));
    expect(await log()).toHaveLength(5);
  });

  test("runs as the container's user, in its directory and environment, without a client", async () => {
    const id = await engine.start(
      ['sleep', '1000'],
      {},
      {
        User: 'berth',
        WorkingDir: '/tmp',
        Env: ['WORD=here'],
        Healthcheck: { Test: ['CMD-SHELL', 'id -un; pwd; echo $WORD; cat'], Interval: 100 * MS },
      },
    );
    expect((await untilHealth(engine, id, 'healthy')).Health?.Log[0]?.Output).toBe('berth\n/tmp\nhere\n');
  });

  test('output is kept up to 4096 bytes', async () => {
    const id = await engine.start(
      ['sleep', '1000'],
      {},
      { Healthcheck: { Test: ['CMD-SHELL', 'yes | head -c 300000'], Interval: 100 * MS } },
    );
    const { Health } = await untilHealth(engine, id, 'healthy');
    expect(Health?.Log[0]?.Output).toBe(`${'y\n'.repeat(2048)}...`);
  });

  test('a command that cannot be started is a failure that says why', async () => {
    const id = await engine.start(
      ['sleep', '1000'],
      {},
      { Healthcheck: { Test: ['CMD', '/nope'], Interval: 100 * MS, Retries: 1 } },
    );
    const { Health } = await untilHealth(engine, id, 'unhealthy');
    expect(Health?.Log[0]).toMatchObject({
      ExitCode: -1,
      Output: expect.stringContaining('stat /nope: no such file or directory'),
    });
  });

  test('start period: failures do not count, one success does', async () => {
    const id = await engine.start(
      ['sleep', '1000'],
      {},
      {
        Healthcheck: {
          Test: ['CMD', 'test', '-e', '/up'],
          Interval: 100 * MS,
          StartInterval: 100 * MS,
          Retries: 1,
          StartPeriod: 60_000 * MS,
        },
      },
    );
    await until(
      'three failures',
      async () => ((await engine.inspect(id)).State.Health?.Log.length ?? 0) >= 3,
    );
    expect((await engine.inspect(id)).State.Health).toMatchObject({ Status: 'starting', FailingStreak: 0 });
    await engine.exec(id, ['touch', '/up']);
    await untilHealth(engine, id, 'healthy');
    await engine.exec(id, ['rm', '/up']);
    await untilHealth(engine, id, 'unhealthy');
  });

  test('stop ends the probes, a start begins anew', async () => {
    const gate = closeGate(engine);
    const id = await engine.start(['sleep', '1000'], ...gated(gate));
    rmSync(`${gate}/closed`);
    await untilHealth(engine, id, 'healthy');
    await engine.http.ok('POST', `/containers/${id}/stop?t=0`);
    const ended = (await engine.inspect(id)).State.Health;
    // dockerd's word for a container that runs no checks any more.
    expect(ended?.Status).toBe('unhealthy');
    await sleep(400);
    expect((await engine.inspect(id)).State.Health).toEqual(ended);
    closeGate(engine);
    await engine.http.ok('POST', `/containers/${id}/start`);
    expect((await engine.inspect(id)).State.Health?.Status).toBe('starting');
    rmSync(`${gate}/closed`);
    await untilHealth(engine, id, 'healthy');
  });

  test('pause ends the probes, unpause begins them again', async () => {
    const id = await engine.start(['sleep', '1000'], {}, { Healthcheck: FILE_CHECK });
    await untilHealth(engine, id, 'healthy');
    await engine.http.ok('POST', `/containers/${id}/pause`);
    const results = async (): Promise<string[]> =>
      ((await engine.inspect(id)).State.Health?.Log ?? []).map(({ Start }) => Start);
    const before = await results();
    await sleep(600);
    const paused = await results();
    // One that had just ended may have been written down a moment later.
    expect(paused.filter((start) => !before.includes(start)).length).toBeLessThan(2);
    await engine.http.ok('POST', `/containers/${id}/unpause`);
    await until('the next result', async () => (await results()).at(-1) !== paused.at(-1));
    await untilHealth(engine, id, 'healthy');
  });

  test('no check: no Health, filter none', async () => {
    const id = await engine.start(['sleep', '1000'], {}, { Healthcheck: { Test: ['NONE'] } });
    expect((await engine.inspect(id)).State.Health).toBeUndefined();
    const filters = encodeURIComponent(JSON.stringify({ health: ['none'] }));
    expect(await engine.list(`?filters=${filters}`)).toMatchObject([{ Id: id }]);
  });

  test('the image brings its check, the request changes parts of it', async () => {
    const config = { Healthcheck: { Test: ['CMD', 'echo', 'by image'], Interval: 100 * MS, Retries: 9 } };
    await engine.daemon.loadBusybox({ tags: ['checked:1'], config });
    const id = await engine.start(['sleep', '1000'], {}, { Image: 'checked:1', Healthcheck: { Retries: 4 } });
    expect((await engine.inspect(id)).Config.Healthcheck).toMatchObject({
      ...config.Healthcheck,
      Retries: 4,
    });
    expect((await untilHealth(engine, id, 'healthy')).Health?.Log[0]?.Output).toBe('by image\n');
    await engine.remove(id);
    await engine.http.ok('DELETE', '/images/checked:1');
  });

  test('import: HEALTHCHECK in changes', async () => {
    const changes = encodeURIComponent('HEALTHCHECK --interval=2s --retries=5 CMD test -e /ok');
    await engine.http.ok(
      'POST',
      `/images/create?fromSrc=-&repo=imported&tag=1&changes=${changes}`,
      busyboxImageTar(),
    );
    const { Config } = await engine.http.ok<{ Config: { Healthcheck: HealthConfig } }>(
      'GET',
      '/images/imported:1/json',
    );
    expect(Config.Healthcheck).toEqual({
      Test: ['CMD-SHELL', 'test -e /ok'],
      Interval: 2e9,
      Retries: 5,
    });
    await engine.http.ok('DELETE', '/images/imported:1');
  });

  test.runIf(!onReference)(
    'R22: a check that hangs is killed with all it started, again and again',
    async () => {
      const hanging = 'echo part; setsid sleep 987 & sleep 987 & sleep 987 | sleep 987';
      const id = await engine.start(
        ['sleep', '1000'],
        { Init: true },
        { Healthcheck: { Test: ['CMD-SHELL', hanging], Interval: 20 * MS, Timeout: 500 * MS, Retries: 2 } },
      );
      const { Health } = await untilHealth(engine, id, 'unhealthy');
      expect(Health?.Log[0]).toMatchObject({
        ExitCode: -1,
        Output: expect.stringMatching(/^Health check exceeded timeout \(500ms\)/),
      });
      // The time to start it counts too: on a busy machine one may be over before it has said anything.
      await until('what it said', async () =>
        (await engine.inspect(id)).State.Health!.Log.some(
          ({ Output }) => Output === 'Health check exceeded timeout (500ms): part\n',
        ),
      );
      await until(
        'ten timeouts',
        async () => ((await engine.inspect(id)).State.Health?.FailingStreak ?? 0) > 9,
        3 * WAIT_MS,
      );
      // Those of one probe under way, at most; one that is just being ended may still be there for a moment.
      await until('nothing more than one probe', async () => {
        const inside = await engine.exec(id, ['ps', '-o', 'stat,args']);
        const sessions = readdirSync(`${engine.daemon.paths.execRoot}/containers/${id}/exec`);
        const monitors = processes().filter(({ commandLine }) =>
          commandLine.includes(`/containers/${id}/exec/`),
        );
        return (
          (inside.stdout.match(/^\S+ +sleep 987$/gm)?.length ?? 0) < 8 &&
          !/^Z/m.test(inside.stdout) &&
          sessions.length < 3 &&
          monitors.length < 3
        );
      });
    },
  );

  test.runIf(!onReference)('R22: a container whose first process never reaps keeps no zombies', async () => {
    const id = await engine.start(
      ['sleep', '1000'],
      {},
      {
        Healthcheck: {
          Test: ['CMD-SHELL', 'sleep 987; sleep 987; true'],
          Interval: 20 * MS,
          Timeout: 150 * MS,
        },
      },
    );
    await until(
      'five timeouts',
      async () => ((await engine.inspect(id)).State.Health?.FailingStreak ?? 0) > 4,
    );
    const { Pid } = (await engine.inspect(id)).State;
    await expect.poll(() => processFile(Pid, `task/${Pid}/children`)).toBe('');
  });

  test.runIf(!onReference)('kill -9 of the daemon: what was found stays true, probes go on', async () => {
    const id = await engine.start(['sleep', '1000'], {}, { Healthcheck: FILE_CHECK });
    await ill(engine, id);
    const before = (await untilHealth(engine, id, 'unhealthy')).Health;
    await engine.daemon.kill9();
    await engine.daemon.up();
    const after = (await engine.inspect(id)).State.Health;
    expect(after?.Status).toBe('unhealthy');
    expect(after?.FailingStreak).toBeGreaterThanOrEqual(before?.FailingStreak ?? 9);
    await engine.exec(id, ['rm', '/ill']);
    await untilHealth(engine, id, 'healthy');
  });

  test.runIf(!onReference)('kill -9 of the daemon: a probe that hangs is ended by the next', async () => {
    const Healthcheck = { Test: ['CMD', 'sleep', '987'], Interval: 100 * MS, Timeout: 3_600_000 * MS };
    const id = await engine.start(['sleep', '1000'], {}, { Healthcheck });
    const inside = (): number[] => pidsInCgroup(engine.daemon.cgroupParent);
    const hanging = (): number[] => {
      const own = inside();
      return processes()
        .filter(({ pid, commandLine }) => commandLine === 'sleep\x00987\x00' && own.includes(pid))
        .map(({ pid }) => pid);
    };
    await until('the probe', () => hanging().length === 1);
    await engine.daemon.kill9();
    const [old] = hanging();
    expect(old).toBeGreaterThan(1);
    await engine.daemon.up();
    const { Pid } = (await engine.inspect(id)).State;
    expect(Pid).toBeGreaterThan(1);
    // The old one is killed, and its successor begins within an interval.
    await until('the old one to end and a new one to begin', () => {
      const now = hanging();
      return now.length === 1 && now[0] !== old;
    });
    await sleep(500);
    expect(hanging()).toHaveLength(1);
  });
});
