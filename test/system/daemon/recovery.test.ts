import { spawn } from 'node:child_process';
import path from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { kill, pidsInCgroup, processes } from '../../support/engine/cleanup.ts';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import type { Engine } from '../../support/engine/engine.ts';
import { jsonLines, sleep, until } from '../../support/engine/http.ts';
import { differences } from '../../support/engine/oracle.ts';
import { processFile } from '../../support/process.ts';
import { untilNow } from '../../support/engine/until-now.ts';

// dockerd ends its containers with itself unless live-restore is set: nothing to compare with.
const survives = test.runIf(!onReference);
const ALWAYS = { RestartPolicy: { Name: 'always', MaximumRetryCount: 0 } };
const UNLESS_STOPPED = { RestartPolicy: { Name: 'unless-stopped', MaximumRetryCount: 0 } };
const DEAF = ['sh', '-c', 'trap "" TERM; while :; do sleep 0.05; done'];

function monitorPid(id: string): number {
  const found = processes().find(
    ({ commandLine }) =>
      /^\S*conmon\0/.test(commandLine) && commandLine.includes(id) && !commandLine.includes('--exec\0'),
  );
  if (found === undefined) {
    throw new Error(`no monitor of ${id}`);
  }
  return found.pid;
}

/** Actions of the past of one container, oldest first. */
async function past(engine: Engine, id: string): Promise<string[]> {
  const filters = encodeURIComponent(JSON.stringify({ container: [id] }));
  const answer = await engine.http.request('GET', `/events?since=0&until=${untilNow()}&filters=${filters}`);
  return jsonLines(answer.text).map((event) => (event as { Action: string }).Action);
}

const dies = async (engine: Engine, id: string): Promise<number> =>
  (await past(engine, id)).filter((action) => action === 'die').length;

const converged = (engine: Engine): Promise<void> =>
  expect.poll(() => differences(engine.daemon)).toEqual([]);

/** As after a reset of the host: every process is gone, the rows are of another boot, and `pid` is somebody else's. */
async function reboot({ daemon }: Engine, pid: number): Promise<void> {
  await daemon.kill9();
  const monitors = processes().filter(({ commandLine }) => commandLine.includes(daemon.paths.execRoot));
  for (const gone of [...monitors.map((monitor) => monitor.pid), ...pidsInCgroup(daemon.cgroupParent)]) {
    kill(gone);
  }
  const [, startTime = ''] = /\) (?:\S+ ){19}(\d+)/.exec(processFile(pid, 'stat')) ?? [];
  const database = new Database(path.join(daemon.paths.dataRoot, 'berth.db'));
  try {
    const change = database.prepare(
      "UPDATE container_states SET state = json_set(state, '$.bootId', 'another', '$.process', json(?)) " +
        "WHERE json_extract(state, '$.bootId') IS NOT NULL",
    );
    change.run(JSON.stringify({ pid, startTime }));
  } finally {
    database.close();
  }
}

/** Once nothing is left of a container that ends by itself, its monitor included: what it leaves is all on disk. */
const hasEnded = (id: string): Promise<void> =>
  until('its end', () => processes().every(({ commandLine }) => !commandLine.includes(id)));

const tests = (engine: Engine): void => {
  survives('R2: daemon, monitor and container killed: exited, everything free, startable', async () => {
    const id = await engine.start(['sleep', '1000'], { NetworkMode: 'bridge' });
    const monitor = monitorPid(id);
    const { Pid } = (await engine.inspect(id)).State;
    await engine.daemon.kill9();
    kill(monitor);
    kill(Pid);
    await engine.daemon.up();
    expect((await engine.inspect(id)).State).toMatchObject({ Status: 'exited', ExitCode: 255, Pid: 0 });
    expect(await dies(engine, id)).toBe(1);
    await converged(engine);
    await engine.http.ok('POST', `/containers/${id}/start`);
    expect((await engine.inspect(id)).State.Running).toBe(true);
  });

  survives(
    'auto-remove: a daemon killed between the exit and the release of what it used goes on',
    async () => {
      const id = await engine.create(['sleep', '0.2'], { NetworkMode: 'bridge', AutoRemove: true });
      engine.daemon.arm('containers.exit.release=sigkill');
      // The daemon may die before it answers.
      await engine.http.request('POST', `/containers/${id}/start`).catch(() => undefined);
      await engine.daemon.ended();
      engine.daemon.arm('');
      await engine.daemon.up();
      await expect
        .poll(async () => (await engine.http.request('GET', `/containers/${id}/json`)).status)
        .toBe(404);
      await converged(engine);
      // What was taken out of sight is removed by now, or else the next start meets it.
      await engine.daemon.restart();
      await converged(engine);
    },
  );

  survives('R3: after a reboot nobody is taken for a container, and policies apply once', async () => {
    const plain = await engine.start(['sleep', '1000']);
    const always = await engine.start(['sleep', '1000'], ALWAYS);
    const stopped = await engine.start(['sleep', '1000'], UNLESS_STOPPED);
    await engine.http.ok('POST', `/containers/${stopped}/stop?t=0`);
    const stranger = spawn('sleep', ['1000']);
    await reboot(engine, stranger.pid ?? 0);
    await engine.daemon.up();
    expect((await engine.inspect(plain)).State).toMatchObject({ Status: 'exited', ExitCode: 255 });
    await until('the policy', async () => (await engine.inspect(always)).State.Status === 'running');
    expect(await engine.inspect(always)).toMatchObject({ RestartCount: 1 });
    expect(await engine.inspect(stopped)).toMatchObject({ State: { Status: 'exited' }, RestartCount: 0 });
    expect([await dies(engine, plain), await dies(engine, always)]).toEqual([1, 1]);
    expect(stranger.exitCode ?? stranger.signalCode).toBeNull();
    stranger.kill();
    await converged(engine);
  });

  survives(
    'R4: ended while no daemon ran: code and time kept, one die, wait answered, --rm done',
    async () => {
      const id = await engine.start(['sh', '-c', 'sleep 0.3; exit 9']);
      const automatic = await engine.start(['sleep', '0.3'], { AutoRemove: true });
      const waiting = engine.wait(id).catch(() => -1);
      await engine.daemon.kill9();
      await waiting;
      await Promise.all([id, automatic].map(hasEnded));
      await sleep(100);
      const down = Date.now();
      await engine.daemon.up();
      const { State } = await engine.inspect(id);
      expect(State).toMatchObject({ Status: 'exited', ExitCode: 9 });
      expect(Date.parse(State.FinishedAt)).toBeLessThan(down - 50);
      expect([await engine.wait(id), await dies(engine, id)]).toEqual([9, 1]);
      await until('its removal', async () => (await engine.list()).every(({ Id }) => Id !== automatic));
      expect((await past(engine, automatic)).slice(-2)).toEqual(['die', 'destroy']);
    },
  );

  survives('R4: the code of one whose monitor is slow to write it down is kept', async () => {
    const id = await engine.start(['sleep', '1000']);
    const monitor = monitorPid(id);
    const { Pid } = (await engine.inspect(id)).State;
    await engine.daemon.kill9();
    process.kill(monitor, 'SIGSTOP');
    kill(Pid);
    const up = engine.daemon.up();
    await sleep(1500);
    process.kill(monitor, 'SIGCONT');
    await up;
    expect((await engine.inspect(id)).State).toMatchObject({ Status: 'exited', ExitCode: 137 });
    expect(await dies(engine, id)).toBe(1);
    await converged(engine);
  });

  survives('R5: killed in the middle of a stop: the next daemon finishes it', async () => {
    const id = await engine.start(DEAF, ALWAYS);
    // The daemon dies before it answers.
    const stopping = engine.http.request('POST', `/containers/${id}/stop?t=1`).catch(() => undefined);
    await until('the signal', async () => (await past(engine, id)).includes('kill'));
    await engine.daemon.kill9();
    await stopping;
    await engine.daemon.up();
    expect((await engine.untilState(id, 'exited')).State.ExitCode).toBe(137);
    await until('the stop', async () => (await past(engine, id)).at(-1) === 'stop');
    expect(await dies(engine, id)).toBe(1);
    await converged(engine);
  });

  survives(
    'R6: containers that end while the daemon restores have their codes and leave nothing',
    async () => {
      const ids = await Promise.all(
        Array.from({ length: 12 }, (_, index) =>
          engine.start(['sh', '-c', `sleep ${(0.6 + index * 0.1).toFixed(1)}; exit ${index + 1}`], {
            NetworkMode: 'bridge',
          }),
        ),
      );
      await engine.daemon.kill9();
      // Each step of the restoring takes its time, so that some end before, some in, some after it.
      engine.daemon.arm('containers.restore.recover=delay(60)');
      await engine.daemon.up();
      engine.daemon.arm('');
      const codes = await Promise.all(ids.map((id) => engine.wait(id)));
      expect(codes).toEqual(ids.map((_, index) => index + 1));
      expect(await Promise.all(ids.map((id) => dies(engine, id)))).toEqual(ids.map(() => 1));
      await converged(engine);
    },
  );

  survives('R7: its monitor killed: exec and stop work, its end is seen, health goes on', async () => {
    const id = await engine.start(
      DEAF,
      {},
      { Healthcheck: { Test: ['CMD', 'true'], Interval: 100e6 }, StopSignal: 'SIGKILL' },
    );
    kill(monitorPid(id));
    expect((await engine.exec(id, ['echo', 'here'])).stdout).toBe('here\n');
    await until('health', async () => (await engine.inspect(id)).State.Health?.Status === 'healthy');
    await engine.http.ok('POST', `/containers/${id}/stop?t=1`);
    expect((await engine.inspect(id)).State).toMatchObject({ Status: 'exited', Pid: 0 });
    expect(await dies(engine, id)).toBe(1);
    await converged(engine);
  });

  survives('R19: init killed between create and start: an error, and nothing left', async () => {
    const id = await engine.create(['sleep', '1000'], { NetworkMode: 'bridge' });
    const inits = (): number[] =>
      pidsInCgroup(engine.daemon.cgroupParent).filter((pid) => processFile(pid, 'cgroup').includes(id));
    engine.daemon.arm('containers.start.commit=hold');
    const starting = engine.http.request('POST', `/containers/${id}/start`);
    // runc is through with it there: the init waits in its FIFO.
    await engine.daemon.reached('containers.start.commit');
    expect(inits()).toHaveLength(1);
    inits().forEach(kill);
    await until('the init to end', () => inits().length === 0);
    engine.daemon.arm('');
    expect((await starting).status).toBe(500);
    await until('its end', async () => !(await engine.inspect(id)).State.Running);
    expect((await engine.inspect(id)).State.Pid).toBe(0);
    await converged(engine);
    await engine.http.ok('POST', `/containers/${id}/start`);
    expect((await engine.inspect(id)).State.Running).toBe(true);
  });

  // A thousand where somebody waits for it.
  const times = Number(process.env['BERTH_TEST_EXITS'] ?? 200);
  test(`R18: ${times} containers that end at once: every exit is seen, with its code`, async () => {
    let next = 0;
    const wrong: string[] = [];
    const lane = async (): Promise<void> => {
      for (let index = next++; index < times; index = next++) {
        const code = index % 256;
        const id = await engine.create(['sh', '-c', `exit ${code}`], { AutoRemove: true });
        const ended = engine.wait(id, '?condition=next-exit');
        const removed = engine.wait(id, '?condition=removed');
        await engine.http.ok('POST', `/containers/${id}/start`);
        const seen = [await ended, await removed];
        if (seen.some((one) => one !== code)) {
          wrong.push(`${code}: ${seen.join()}`);
        }
      }
    };
    await Promise.all([lane(), lane(), lane(), lane()]);
    expect(wrong).toEqual([]);
    expect(await engine.list()).toEqual([]);
  });
};

describeEngine('recovery', tests, { armable: true });
