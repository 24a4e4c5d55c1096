import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { newId } from '../../../daemon/base/ids.ts';
import { identify, isAlive } from '../../../daemon/base/kernel/processes/process.ts';
import { needs } from '../../support/needs.ts';
import { processLink, untilCatching } from '../../support/process.ts';
import { makeRuntime, makeSpec, openRuntime } from './fixture.ts';
import type { RuntimeFixture } from './fixture.ts';

needs(
  'root',
  'runc',
  'conmon',
  'busybox',
)('ConmonRuntime', () => {
  let it: RuntimeFixture;
  beforeAll(() => {
    it = makeRuntime();
  });
  afterAll(() => it[Symbol.asyncDispose]());
  beforeEach(() => {
    it.exits.length = 0;
  });

  test('launch creates, begin runs, onExit tells once, cleanUp and forgetExit leave nothing', async () => {
    const before = BigInt(Date.now()) * 1_000_000n;
    const { id, init } = await it.launch(['sh', '-c', 'exit 7']);
    expect(isAlive(init)).toBe(true);
    expect(it.runtime.isWaiting(id)).toBe(true);
    await it.runtime.begin(id);
    const exit = await it.exit(id);
    expect(it.runtime.isWaiting(id)).toBe(false);
    expect(exit).toEqual({ id, exitCode: 7, finishedAtNano: exit.finishedAtNano, oomKilled: false });
    expect(exit.finishedAtNano).toBeGreaterThan(before);
    expect(it.runtime.exitOf(id)).toEqual(exit);
    await it.runtime.cleanUp(id);
    expect(it.runtime.exitOf(id)).toEqual(exit);
    it.runtime.forgetExit(id);
    expect(await it.remains()).toEqual([]);
    await sleep(100);
    expect(it.exits).toEqual([exit]);
    await it.runtime.cleanUp(id);
    it.runtime.forgetExit(id);
  });

  test.each([
    [['/nope'], 'invalid_argument', 127, 'exec: "/nope": stat /nope: no such file or directory'],
    [['nope'], 'invalid_argument', 127, 'exec: "nope": executable file not found in $PATH'],
    [['/etc'], 'invalid_argument', 126, 'exec: "/etc": permission denied'],
    [['/etc/plain'], 'invalid_argument', 126, 'exec: "/etc/plain": permission denied'],
  ])('launch of %j fails with %s and exit code %d, leaving nothing', async (args, code, exitCode, text) => {
    writeFileSync(join(it.rootfs, 'etc/plain'), 'x', { mode: 0o644 });
    const prefix = 'OCI runtime create failed: runc create failed: unable to start container process: ';
    await expect(it.launch(args)).rejects.toMatchObject({
      code,
      message: `${prefix}${text}: unknown`,
      details: { exitCode },
    });
    await expect(it.launch(args, { terminal: true })).rejects.toMatchObject({ code, details: { exitCode } });
    expect(await it.remains()).toEqual([]);
  });

  test('launch with a relative working directory fails as internal with exit code 128', async () => {
    await expect(it.launch(['true'], { process: { cwd: 'relative' } })).rejects.toMatchObject({
      code: 'internal',
      details: { exitCode: 128 },
    });
    expect(await it.remains()).toEqual([]);
  });

  test('launch says what is wrong when the log file cannot be made', async () => {
    await expect(it.launch(['true'], { logPath: '/nowhere/at/all' })).rejects.toMatchObject({
      code: 'internal',
      message: expect.stringContaining('Failed to open log file'),
    });
    await expect(it.launch(['true'], { logPath: '/tmp/a:b' })).rejects.toMatchObject({
      code: 'invalid_argument',
    });
    expect(await it.remains()).toEqual([]);
  });

  test('launch says what is wrong when a program is missing', async () => {
    for (const missing of [{ conmonPath: '/nowhere/conmon' }, { runcPath: '/nowhere/runc' }]) {
      using broken = openRuntime(it.base, it.cgroupParent, missing);
      const id = newId();
      const cgroupsPath = `${it.cgroupParent}/${id}`;
      const spec = makeSpec({ rootfs: it.rootfs, args: ['true'], terminal: false, cgroupsPath });
      const request = {
        id,
        runtime: 'runc',
        spec,
        terminal: false,
        stdin: 'none',
        logPath: null,
        logBytesMax: null,
      } as const;
      await expect(broken.launch(request)).rejects.toMatchObject({
        code: 'internal',
        message: expect.stringMatching(/\/nowhere\/conmon|\/nowhere\/runc/),
      });
    }
    expect(await it.remains()).toEqual([]);
  });

  test('the same id can be launched again after its exit, and over the remains of a crash', async () => {
    const { id } = await it.run(['true']);
    await it.exit(id);
    it.exits.length = 0;
    const again = await it.run(['sh', '-c', 'exit 3'], { id });
    expect(again.id).toBe(id);
    await expect.poll(() => it.exits).toMatchObject([{ id, exitCode: 3 }]);
    await it.runtime.cleanUp(id);
    it.runtime.forgetExit(id);
    expect(await it.remains()).toEqual([]);
  });

  test('launch refuses an id that is running', async () => {
    const { id } = await it.run(['sleep', '100']);
    await expect(it.launch(['true'], { id })).rejects.toMatchObject({ code: 'conflict' });
    await it.runtime.cleanUp(id);
  });

  test('cleanUp ends a container that runs or waits, and tells no exit', async () => {
    const waiting = await it.launch(['sleep', '100']);
    const running = await it.run(['sh', '-c', 'sleep 100 & sleep 200']);
    await it.runtime.cleanUp(waiting.id);
    await it.runtime.cleanUp(running.id);
    expect([isAlive(waiting.init), isAlive(running.init)]).toEqual([false, false]);
    expect(await it.remains()).toEqual([]);
    await sleep(100);
    expect(it.exits).toEqual([]);
  });

  test('signal and killAll end a container with 128 + the signal', async () => {
    const first = await it.run(['sh', '-c', 'trap "exit 9" TERM; while :; do sleep 0.05; done']);
    await untilCatching(first.init.pid, 15);
    it.runtime.signal(first.init, 15);
    expect((await it.exit(first.id)).exitCode).toBe(9);
    it.runtime.signal(first.init, 15);
    const second = await it.run(['sleep', '100']);
    await it.runtime.killAll(second.id);
    expect((await it.exit(second.id)).exitCode).toBe(137);
    for (const { id } of [first, second]) {
      await it.runtime.cleanUp(id);
      it.runtime.forgetExit(id);
    }
    expect(await it.remains()).toEqual([]);
  });

  test('a container killed by the kernel for its memory is told as such', async () => {
    const id = newId();
    const started = await it.launch(['dd', 'if=/dev/zero', 'of=/dev/null', 'bs=64M', 'count=4'], { id });
    const directory = `/sys/fs/cgroup/memory${it.cgroupParent}/${id}/memory.limit_in_bytes`;
    if (!existsSync(directory)) {
      return;
    }
    writeFileSync(directory, String(8 * 1024 * 1024));
    await it.runtime.begin(started.id);
    expect((await it.exit(id)).oomKilled).toBe(true);
    await it.runtime.cleanUp(id);
    it.runtime.forgetExit(id);
  });

  test('conmon has a session of its own and no descriptor of the daemon', async () => {
    const { id } = await it.run(['sleep', '100']);
    const pid = Number(readFileSync(join(it.execRoot, 'containers', id, 'monitor.pid'), 'utf8'));
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ');
    expect(Number(stat[5])).toBe(pid);
    const kinds = (): string[] =>
      readdirSync(`/proc/${pid}/fd`).map((fd) =>
        processLink(pid, `fd/${fd}`)
          .replace(/:?\[.*/, '')
          .replace(`${it.execRoot}/containers/${id}`, 'bundle')
          .replace(/^\/sys\/fs\/cgroup\/.*/, 'cgroup'),
      );
    // It opens the last of them, the one for OOM notices, only after it has told us of the container.
    await expect
      .poll(() => [...new Set(kinds())].toSorted())
      .toEqual(['/dev/null', 'anon_inode', 'bundle/ctl', 'bundle/winsz', 'cgroup', 'pipe', 'socket']);
    expect(
      readFileSync(`/proc/${pid}/environ`, 'utf8')
        .split('\0')
        .map((line) => line.split('=')[0]),
    ).toEqual(['PATH', 'GOGC', '_OCI_SYNCPIPE', '']);
    await it.runtime.cleanUp(id);
  });

  test('a container whose monitor was killed is told once, as killed, when it ends', async () => {
    const { id, init } = await it.run(['sleep', '100']);
    const monitor = identify(
      Number(readFileSync(join(it.execRoot, 'containers', id, 'monitor.pid'), 'utf8')),
    );
    expect(monitor).toBeDefined();
    it.runtime.signal(monitor!, 9);
    await sleep(50);
    expect(isAlive(init)).toBe(true);
    it.runtime.signal(init, 15);
    it.runtime.signal(init, 9);
    await expect.poll(() => it.exits.length).toBe(1);
    await sleep(100);
    expect(it.exits).toMatchObject([{ id, exitCode: 137 }]);
    await it.runtime.cleanUp(id);
    it.runtime.forgetExit(id);
  });
});
