import { spawnSync } from 'node:child_process';
import {
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import { until } from '../../support/engine/http.ts';
import { differences } from '../../support/engine/oracle.ts';
import { tar } from '../../support/images/tar.ts';

const MAIN = path.resolve(import.meta.dirname, '../../../dist/daemon/main.js');
// Each of them is about how this daemon starts.
const suite = onReference ? test.skip : test;

describeEngine('a daemon that starts', (engine) => {
  const fifoOf = (id: string): string => path.join(engine.daemon.paths.execRoot, 'runc', id, 'exec.fifo');

  suite('R70: a data root behind a symbolic link holds containers that run, survive and go', async () => {
    const { daemon } = engine;
    const { dataRoot, root } = daemon.paths;
    const real = path.join(root, 'elsewhere');
    await daemon.stop();
    renameSync(dataRoot, real);
    symlinkSync(real, dataRoot);
    try {
      await daemon.up();
      expect(await engine.run(['echo', 'linked'], { Binds: ['kept:/data'] })).toMatchObject({
        exitCode: 0,
        stdout: 'linked\n',
      });
      const id = await engine.start(['sleep', '1000']);
      const { Pid } = (await engine.inspect(id)).State;
      await daemon.restart();
      expect((await engine.inspect(id)).State).toMatchObject({ Running: true, Pid });
      const argv = ['system', 'check', '--config-file', daemon.paths.config];
      expect(spawnSync(MAIN, argv, { encoding: 'utf8' })).toMatchObject({ status: 0 });
      await engine.removeAll();
      await engine.http.ok('DELETE', '/volumes/kept');
    } finally {
      await daemon.stop();
      unlinkSync(dataRoot);
      renameSync(real, dataRoot);
      await daemon.up();
    }
    await expect.poll(() => differences(daemon)).toEqual([]);
  });

  suite(
    'R71: killed between opening and unlinking the exec FIFO, later starts wait for nothing',
    async () => {
      const { daemon } = engine;
      const ids = [
        await engine.create(['sleep', '1000']),
        await engine.create(['sleep', '1000']),
        await engine.create(['sleep', '1000']),
      ];
      for (const id of ids) {
        await daemon.restart({ env: { BERTH_FAILPOINTS: 'runtime.begin.letgo=sigkill' } });
        await expect(engine.http.ok('POST', `/containers/${id}/start`)).rejects.toThrow();
        await daemon.ended();
        expect(existsSync(fifoOf(id))).toBe(true);
      }
      await daemon.up();
      expect(daemon.log()).not.toMatch(/still being restored|could not be restored/);
      for (const id of ids) {
        expect((await engine.inspect(id)).State).toMatchObject({ Status: 'running' });
        expect(existsSync(fifoOf(id))).toBe(false);
        expect(await engine.exec(id, ['echo', 'in'])).toMatchObject({ stdout: 'in\n', exitCode: 0 });
      }
    },
  );

  suite('R71: a container that is slow to come back keeps only those waiting who ask for it', async () => {
    const { daemon } = engine;
    const quick = await engine.start(['sleep', '1000']);
    const slow = await engine.create(['sleep', '1000'], {}, {}, 'slow');
    await daemon.restart({ env: { BERTH_FAILPOINTS: 'runtime.begin.fifo=sigkill' } });
    await expect(engine.http.ok('POST', `/containers/${slow}/start`)).rejects.toThrow();
    await daemon.ended();
    const init = await initOf(daemon.paths.execRoot, slow);
    process.kill(init, 'SIGSTOP');
    try {
      await daemon.up();
      expect(daemon.log()).toMatch(/some containers are still being restored/);
      let isAnswered = false;
      const inspected = engine.inspect(slow).finally(() => {
        isAnswered = true;
      });
      expect((await engine.list()).map(({ Id, State }) => [Id, State])).toEqual([
        [slow, 'running'],
        [quick, 'running'],
      ]);
      expect(await engine.exec(quick, ['echo', 'in'])).toMatchObject({ stdout: 'in\n' });
      expect(await engine.run(['true'])).toMatchObject({ exitCode: 0 });
      expect(isAnswered).toBe(false);
      process.kill(init, 'SIGCONT');
      expect((await inspected).State).toMatchObject({ Status: 'running', Pid: init });
      expect(await engine.exec(slow, ['echo', 'in'])).toMatchObject({ stdout: 'in\n' });
    } finally {
      process.kill(init, 'SIGCONT');
    }
  });

  suite.each([false, true])(
    'R72: exec root wiped while containers run (daemon started again: %s): exits, stop, rm, new starts, cp',
    async (isRestarted) => {
      const { daemon } = engine;
      const ending = await engine.start(['sh', '-c', 'until [ -e /gate/go ]; do sleep 0.1; done; exit 7'], {
        Binds: ['gate:/gate'],
      });
      const killed = await engine.start(['sleep', '1000'], { NetworkMode: 'bridge' });
      const removed = await engine.start(['sleep', '1000'], { NetworkMode: 'bridge' });
      const stopped = await engine.create(['true']);
      // As a cleaner does it: what is mounted stays.
      spawnSync('find', [daemon.paths.execRoot, '-mindepth', '1', '-delete']);
      if (isRestarted) {
        await daemon.restart();
      }
      writeFileSync(path.join(daemon.paths.dataRoot, 'volumes/gate/_data/go'), '');
      expect(await engine.wait(ending)).toBe(7);
      await engine.http.ok('POST', `/containers/${killed}/stop?t=0`);
      expect((await engine.inspect(killed)).State).toMatchObject({ Status: 'exited', ExitCode: 137 });
      await engine.http.ok('DELETE', `/containers/${removed}?force=1`);
      expect(await engine.run(['echo', 'new'], { NetworkMode: 'bridge' })).toMatchObject({ stdout: 'new\n' });
      expect(await engine.run(['echo', 'new'])).toMatchObject({ stdout: 'new\n', exitCode: 0 });
      const copied = await engine.http.request('GET', `/containers/${stopped}/archive?path=/bin`);
      expect(copied.status).toBe(200);
      await engine.http.ok('POST', `/containers/${killed}/start`);
      await engine.removeAll();
      await engine.http.ok('DELETE', '/volumes/gate');
      await expect.poll(() => differences(daemon)).toEqual([]);
    },
  );

  suite.each([false, true])(
    'R72: exec root wiped while a container runs (daemon started again: %s): its log is rotated, exec says why not',
    async (isRestarted) => {
      const { daemon } = engine;
      const Config = { 'max-size': '40k', 'max-file': '3' };
      const id = await engine.start(['sh', '-c', 'while :; do seq 100; usleep 20000; done'], {
        LogConfig: { Type: 'json-file', Config },
      });
      spawnSync('find', [daemon.paths.execRoot, '-mindepth', '1', '-delete']);
      if (isRestarted) {
        await daemon.restart();
      }
      const folder = path.join(daemon.paths.dataRoot, 'containers', id);
      const generations = (): number[] =>
        readdirSync(folder).flatMap(
          (name) => /^container\.log\.(\d+)$/.exec(name)?.slice(1).map(Number) ?? [],
        );
      const newest = Math.max(0, ...generations());
      await until('two rotations', () => Math.max(0, ...generations()) >= newest + 2);
      const refused = await engine.http.request('POST', `/containers/${id}/exec`, {
        body: { Cmd: ['true'] },
      });
      const { Id } = refused.json as { Id: string };
      const started = await engine.http.request('POST', `/exec/${Id}/start`, { body: { Detach: true } });
      expect([started.status, started.text]).toEqual([409, expect.stringContaining(daemon.paths.execRoot)]);
      await engine.remove(id);
      await expect.poll(() => differences(daemon)).toEqual([]);
    },
  );

  suite.each(['', '&rm=0'])(
    'R73: killed in a step of a build%s, the step ends and goes, and prune takes what is left',
    async (query) => {
      const { daemon } = engine;
      const Dockerfile = 'FROM busybox\nRUN echo first >/first\nRUN sleep 1000\n';
      const body = tar([{ name: 'Dockerfile', content: Dockerfile }]);
      const built = engine.http.request('POST', `/build?t=never:1&nocache=1${query}`, { body });
      // Its connection breaks with the daemon.
      built.catch(() => undefined);
      await until('the step to run', async () => {
        const running = await engine.http.ok<{ Command: string }[]>('GET', '/containers/json');
        return running.some(({ Command }) => Command.includes('sleep 1000'));
      });
      await daemon.kill9();
      daemon.launch({ BERTH_FAILPOINTS: 'containers.restore.build=sigkill' });
      await daemon.ended();
      await daemon.up();
      const kept = query === '' ? 0 : 1;
      await until('the step to be gone', async () => (await engine.list()).length === kept);
      expect(await engine.list('')).toEqual([]);
      await engine.http.ok('POST', '/containers/prune');
      await engine.http.ok('POST', '/images/prune?filters={"dangling":["true"]}');
      expect(await engine.list()).toEqual([]);
      expect((await engine.http.ok<unknown[]>('GET', '/images/json?all=1')).length).toBe(1);
      await expect.poll(() => differences(daemon)).toEqual([]);
    },
  );

  suite('R75: without cgroups in its mount namespace it ends at once and says so', async () => {
    const { daemon } = engine;
    await daemon.stop();
    const script = `umount -l -R /sys/fs/cgroup; exec ${MAIN} --config-file ${daemon.paths.config}`;
    const [file, ...args] = daemon.netns.enter('unshare', '--mount', 'sh', '-c', script);
    const { status, stderr } = spawnSync(file, args, { encoding: 'utf8', timeout: 60_000 });
    expect([status, stderr]).toEqual([
      1,
      expect.stringMatching(/no cgroups are mounted in this mount namespace/),
    ]);
    await daemon.up();
  });
});

async function initOf(execRoot: string, id: string): Promise<number> {
  const file = path.join(execRoot, 'containers', id, 'pid');
  let pid = 0;
  await until('the number of its init', () => {
    pid = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0;
    return pid > 1;
  });
  return pid;
}
