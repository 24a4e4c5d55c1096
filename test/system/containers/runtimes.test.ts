import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { afterAll, expect, test } from 'vitest';
import type { ExecInspect } from '../../../api/types/exec.ts';
import type { SystemInfo } from '../../../api/types/system.ts';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import type { Engine } from '../../support/engine/engine.ts';
import { until } from '../../support/engine/http.ts';

/**
 * crun behind a script that notes what it is asked for. Where cgroup v2 lies beside v1, crun refuses to work (1.8.1:
 * "cgroups in hybrid mode not supported"), so the script hides it from crun alone.
 */
const FOLDER = `/tmp/berth-test-crun-${process.pid}`;
const PROGRAM = `${FOLDER}/crun`;
const CALLS = `${FOLDER}/calls`;
const hybrid = existsSync('/sys/fs/cgroup/unified/cgroup.controllers');
const crun = hybrid
  ? `exec unshare --mount --propagation slave sh -c 'umount /sys/fs/cgroup/unified; exec crun "$@"' crun "$@"`
  : 'exec crun "$@"';
mkdirSync(FOLDER, { recursive: true });
writeFileSync(PROGRAM, `#!/bin/sh\necho "$@" >>${CALLS}\n[ "$1" != --extra ] || shift\n${crun}\n`, {
  mode: 0o755,
});

afterAll(() => rmSync(FOLDER, { recursive: true, force: true }));

/** Verbs that crun was asked for, of this container. */
function verbsFor(id: string): string[] {
  const calls = readFileSync(CALLS, 'utf8').split('\n');
  const verbs = /\b(create|start|state|kill|delete|exec)\b/;
  return calls.filter((line) => line.includes(id)).map((line) => verbs.exec(line)?.[1] ?? '');
}

const config = {
  runtimes: {
    crun: { path: PROGRAM },
    extra: { path: PROGRAM, runtimeArgs: ['--extra'] },
    ...(!onReference && { missing: { path: '/not/there' } }),
  },
};
const CRUN = { Runtime: 'crun' };

async function running(engine: Engine, id: string): Promise<boolean> {
  return (await engine.inspect(id)).State.Running;
}

describeEngine(
  'runtimes',
  (engine) => {
    test('runtimes: info lists those of the configuration beside runc', async () => {
      const { Runtimes, DefaultRuntime } = await engine.http.ok<SystemInfo>('GET', '/info');
      expect(Runtimes).toMatchObject({
        crun: { path: PROGRAM },
        extra: { path: PROGRAM, runtimeArgs: ['--extra'] },
        runc: { path: expect.stringMatching(/runc$/) },
      });
      expect(DefaultRuntime).toBe('runc');
    });

    test('runtimes: a container of crun runs, with its output and exit code, and nothing of it stays', async () => {
      const { id, exitCode, stdout } = await engine.run(['sh', '-c', 'echo out; exit 7'], CRUN);
      expect([exitCode, stdout]).toEqual([7, 'out\n']);
      expect((await engine.inspect(id)).HostConfig.Runtime).toBe('crun');
      await engine.http.ok('DELETE', `/containers/${id}`);
      const verbs = verbsFor(id);
      expect(verbs.slice(0, 2)).toEqual(
        onReference ? expect.arrayContaining(['create']) : ['create', 'start'],
      );
      expect(verbs).toContain('delete');
    });

    test('runtimes: their arguments stand before the verb', async () => {
      const { id, exitCode } = await engine.run(['true'], { Runtime: 'extra' });
      expect(exitCode).toBe(0);
      const calls = readFileSync(CALLS, 'utf8').split('\n');
      expect(calls.find((line) => line.includes(id))).toMatch(/^--extra .*create/);
    });

    test('runtimes: exec of crun, with output, exit code, terminal, and without anybody', async () => {
      const id = await engine.start(['sleep', '1000'], CRUN);
      expect(await engine.exec(id, ['sh', '-c', 'echo out; echo err >&2; exit 3'])).toMatchObject({
        exitCode: 3,
        stdout: 'out\n',
        stderr: 'err\n',
      });
      const body = { Cmd: ['sh', '-c', 'test -t 1 && echo terminal'], Tty: true, AttachStdout: true };
      const { Id } = await engine.http.ok<{ Id: string }>('POST', `/containers/${id}/exec`, body);
      const { text } = await engine.http.request('POST', `/exec/${Id}/start`, { body: { Tty: true } });
      expect(text).toBe('terminal\r\n');
      const detached = { Cmd: ['sh', '-c', 'echo > /done; exit 4'] };
      const quiet = await engine.http.ok<{ Id: string }>('POST', `/containers/${id}/exec`, detached);
      await engine.http.ok('POST', `/exec/${quiet.Id}/start`, { Detach: true });
      await until('its end', async () => {
        const { ExitCode } = await engine.http.ok<ExecInspect>('GET', `/exec/${quiet.Id}/json`);
        return ExitCode === 4;
      });
    });

    test('runtimes: stop, kill with a signal, pause, limits and top of a container of crun', async () => {
      const trap =
        'trap "echo usr1" USR1; trap "echo term; exit 5" TERM; echo ready; while :; do sleep 0.05; done';
      const id = await engine.start(['sh', '-c', trap], CRUN);
      await until('the traps', async () => (await engine.logs(id)).stdout.includes('ready'));
      await engine.http.ok('POST', `/containers/${id}/kill?signal=USR1`);
      await until('the signal', async () => (await engine.logs(id)).stdout.includes('usr1'));
      await engine.http.ok('POST', `/containers/${id}/pause`);
      expect((await engine.inspect(id)).State.Paused).toBe(true);
      await engine.http.ok('POST', `/containers/${id}/unpause`);
      await engine.http.ok('POST', `/containers/${id}/update`, {
        Memory: 64 * 2 ** 20,
        MemorySwap: 64 * 2 ** 20,
      });
      await engine.http.ok('GET', `/containers/${id}/top`);
      await engine.http.ok('POST', `/containers/${id}/stop`);
      expect((await engine.inspect(id)).State.ExitCode).toBe(5);
      expect((await engine.logs(id)).stdout).toBe('ready\nusr1\nterm\n');
      expect(verbsFor(id).filter((verb) => verb === 'kill').length).toBeGreaterThanOrEqual(2);
    });

    test('runtimes: a command that crun does not find is the fault of the request', async () => {
      const id = await engine.create(['/not/there'], CRUN);
      const { status, json } = await engine.http.request('POST', `/containers/${id}/start`);
      expect([status, json]).toEqual([400, { message: expect.stringMatching(/not found/) }]);
      expect((await engine.inspect(id)).State.ExitCode).toBe(127);
    });

    test('runtimes: one that is not configured is refused by name', async () => {
      const body = { Image: 'busybox', HostConfig: { Runtime: 'kata' } };
      const { status, json } = await engine.http.request('POST', '/containers/create', { body });
      expect([status, json]).toEqual([400, { message: expect.stringMatching(/runtime.*kata/) }]);
    });

    test.skipIf(onReference)(
      'runtimes: one whose program is not there fails the start, by name',
      async () => {
        const id = await engine.create(['true'], { Runtime: 'missing' });
        const { status, json } = await engine.http.request('POST', `/containers/${id}/start`);
        expect([status, json]).toEqual([
          503,
          { message: 'runtime missing: its program is not there or cannot be executed' },
        ]);
        expect(await running(engine, id)).toBe(false);
      },
    );

    test.skipIf(onReference)(
      'runtimes: containers of crun outlive the daemon, also where it forgets crun',
      async () => {
        const id = await engine.start(['sh', '-c', 'trap "exit 6" TERM; while :; do sleep 0.05; done'], CRUN);
        await engine.daemon.kill9();
        engine.daemon.configure({});
        await engine.daemon.up();
        expect(await running(engine, id)).toBe(true);
        expect(await engine.exec(id, ['echo', 'still'])).toMatchObject({ exitCode: 0, stdout: 'still\n' });
        await engine.http.ok('POST', `/containers/${id}/stop`);
        expect((await engine.inspect(id)).State.ExitCode).toBe(6);
        await engine.http.ok('DELETE', `/containers/${id}`);
        expect(verbsFor(id)).toContain('delete');
        await engine.daemon.kill9();
        engine.daemon.configure(config);
        await engine.daemon.up();
      },
    );

    test.skipIf(onReference)(
      'runtimes: what a dead daemon had created but not let run, the next lets run',
      async () => {
        const id = await engine.create(['sh', '-c', 'echo ran; exit 8'], CRUN);
        engine.daemon.arm('containers.start.begin=sigkill');
        // The daemon ends before it can answer.
        await engine.http.request('POST', `/containers/${id}/start`).catch(() => undefined);
        await until('the end of the daemon', () => !engine.daemon.isRunning());
        engine.daemon.arm('');
        await engine.daemon.up();
        expect(await engine.wait(id)).toBe(8);
        expect((await engine.logs(id)).stdout).toBe('ran\n');
      },
    );
  },
  { config, alsoNeeds: ['crun'], armable: true },
);
