import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { cgroupDirectories, kill, pidsInCgroup } from '../support/engine/cleanup.ts';
import { describeEngine, onReference } from '../support/engine/engine.ts';
import type { Engine } from '../support/engine/engine.ts';
import { sleep, until } from '../support/engine/http.ts';
import { differences } from '../support/engine/oracle.ts';
import { untilNow } from '../support/engine/until-now.ts';

async function actions({ http }: Engine, id: string): Promise<string> {
  const filters = encodeURIComponent(JSON.stringify({ container: [id] }));
  return (await http.request('GET', `/events?since=0&until=${untilNow()}&filters=${filters}`)).text;
}

/** The container's cgroup has a thousandth of a processor from here on, which another process uses up. */
async function throttle({ daemon }: Engine, id: string): Promise<ChildProcess> {
  const folder = cgroupDirectories(path.join(daemon.cgroupParent, id)).find((name) =>
    existsSync(path.join(name, 'cpu.cfs_quota_us')),
  );
  if (folder === undefined) {
    throw new Error(`no cgroup of ${id} limits processors`);
  }
  const write = (file: string, text: string): void => writeFileSync(path.join(folder, file), text);
  const busy = spawn('sh', ['-c', 'while :; do :; done']);
  onTestFinished(() => void busy.kill('SIGKILL'));
  write('cgroup.procs', String(busy.pid));
  write('cpu.cfs_period_us', '1000000');
  write('cpu.cfs_quota_us', '1000');
  await sleep(100);
  return busy;
}

function hasFifoOpen(pid: number): boolean {
  return readdirSync(`/proc/${pid}/fd`).some((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`).endsWith('/exec.fifo');
    } catch {
      // Closed meanwhile.
      return false;
    }
  });
}

const COMMAND = ['sh', '-c', 'echo it ran; exit 23'];

/**
 * Starts a container up to the moment when the daemon reads its FIFO, and init, which is woken by that, has no
 * processor yet. Undefined when init was faster.
 */
async function holdInit(
  engine: Engine,
  id: string,
  { step, trace }: { step: string; trace: string },
): Promise<{ init: number | undefined; busy: ChildProcess } | undefined> {
  const { daemon, http } = engine;
  rmSync(trace, { force: true });
  let isOver = false;
  // The daemon is killed before it answers.
  void http
    .request('POST', `/containers/${id}/start`)
    .then(() => (isOver = true))
    .catch(() => undefined /* see above */);
  await until(step, () => existsSync(trace) && readFileSync(trace, 'utf8').includes(step));
  const [init] = pidsInCgroup(path.join(daemon.cgroupParent, id));
  // As on a busy machine: it is woken, and comes to write its byte when the daemon that reads it is gone.
  const busy = await throttle(engine, id);
  await until('the reader of its FIFO', () => isOver || hasFifoOpen(daemon.pid));
  if (!isOver) {
    return { init, busy };
  }
  busy.kill('SIGKILL');
  return undefined;
}

describeEngine('a start of the daemon', (engine) => {
  test.runIf(!onReference)('succeeds when an interface that it takes away vanishes by itself', async () => {
    const { daemon } = engine;
    const id = await engine.start(['sleep', '600'], { NetworkMode: 'bridge' });
    const { State, NetworkSettings } = await engine.inspect(id);
    // While it lives, so do the namespace and its interface.
    const inside = spawn('nsenter', [`--net=${NetworkSettings.SandboxKey}`, 'sleep', '600']);
    await daemon.kill9();
    kill(State.Pid);

    const step = 'network.close.detaching';
    const trace = daemon.paths.failpointTrace;
    const up = daemon.up({ BERTH_FAILPOINTS: `${step}=delay(500)@1`, BERTH_FAILPOINT_TRACE: trace });
    await until(step, () => existsSync(trace) && readFileSync(trace, 'utf8').includes(step));
    inside.kill('SIGKILL');
    await up;

    expect((await engine.untilState(id, 'exited')).State).toMatchObject({ ExitCode: 137 });
    await expect.poll(() => differences(daemon)).toEqual([]);
  });

  test.runIf(!onReference)('that dies while it goes on with a stop: the next one finishes it', async () => {
    const { daemon } = engine;
    const id = await engine.start(['sh', '-c', 'trap "" TERM; while :; do sleep 0.05; done']);
    // The daemon dies before it answers.
    const stopping = engine.http.request('POST', `/containers/${id}/stop?t=1`).catch(() => undefined);
    await until('the signal', async () => (await actions(engine, id)).includes('kill'));
    await daemon.kill9();
    await stopping;
    daemon.launch({ BERTH_FAILPOINTS: 'containers.restore.stop=sigkill' });
    await daemon.ended();
    await daemon.up();
    expect((await engine.untilState(id, 'exited')).State.ExitCode).toBe(137);
    await expect.poll(() => differences(daemon)).toEqual([]);
  });

  test.runIf(!onReference)('that dies while it forgets old events forgets them the next time', async () => {
    const { daemon } = engine;
    await daemon.restart({ gracefully: true, env: { BERTH_FAILPOINTS: 'database.event.prune=sigkill' } });
    // A daemon that dies may have answered before.
    const id = await engine.create(['true']).catch(() => undefined);
    await daemon.ended();
    await daemon.up();
    // Its answer may have been lost, it was not.
    expect(await engine.list()).toHaveLength(1);
    expect(id === undefined || (await engine.inspect(id)).Id === id).toBe(true);
    await expect.poll(() => differences(daemon)).toEqual([]);
  });

  test.runIf(!onReference)(
    'R1: after one that died while it let a command go, between init being woken and its answer',
    async () => {
      const { daemon } = engine;
      const step = 'runtime.begin.fifo';
      const trace = daemon.paths.failpointTrace;
      await daemon.restart({
        gracefully: true,
        env: { BERTH_FAILPOINTS: `${step}=delay(4000)`, BERTH_FAILPOINT_TRACE: trace },
      });
      let id = '';
      let held: Awaited<ReturnType<typeof holdInit>>;
      // Now and then init has its millisecond at that very moment, and is done.
      for (let attempt = 0; held === undefined && attempt < 6; attempt += 1) {
        id = await engine.create(COMMAND);
        held = await holdInit(engine, id, { step, trace });
      }
      expect(held).toBeDefined();
      await daemon.kill9();
      held?.busy.kill('SIGKILL');
      await until('the end of init', () => !existsSync(`/proc/${held?.init}`));
      await daemon.up();

      expect((await engine.untilState(id, 'exited')).State.ExitCode).toBe(23);
      expect((await engine.logs(id)).stdout).toBe('it ran\n');
      expect((await actions(engine, id)).match(/"Action":"die"/g)).toHaveLength(1);
      await expect.poll(() => differences(daemon)).toEqual([]);
    },
  );

  test.runIf(!onReference)('that dies before it starts a container starts it the next time', async () => {
    const { daemon } = engine;
    const id = await engine.start(['sleep', '1000'], { RestartPolicy: { Name: 'always' } });
    await engine.http.ok('POST', `/containers/${id}/stop?t=0`);
    await daemon.stop();
    daemon.launch({ BERTH_FAILPOINTS: 'containers.restore.start=sigkill' });
    await daemon.ended();
    await daemon.up();
    await engine.untilState(id, 'running');
    await expect.poll(() => differences(daemon)).toEqual([]);
  });
});
