import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { newId } from '../../../daemon/base/ids.ts';
import { needs } from '../../support/needs.ts';
import { makeRuntime, openRuntime, readAll } from './fixture.ts';
import type { RuntimeFixture } from './fixture.ts';

/** Resolves when the container runs; a daemon that ends before has said why on our standard error. */
async function ready(child: ChildProcess): Promise<void> {
  const ended = once(child, 'close').then(([code]) => {
    throw new Error(`the daemon ended with ${code} before the container ran`);
  });
  await Promise.race([once(child.stdout!, 'data'), ended]);
  // Killed later, on purpose.
  ended.catch(() => undefined);
}

const launcher = join(import.meta.dirname, 'launcher.ts');

needs(
  'root',
  'runc',
  'conmon',
  'busybox',
)('A container whose daemon was killed', () => {
  let it: RuntimeFixture;
  beforeAll(() => {
    it = makeRuntime();
  });
  afterAll(() => it[Symbol.asyncDispose]());
  beforeEach(() => {
    it.exits.length = 0;
  });
  afterEach(async () => {
    for (const id of await it.runtime.leftovers()) {
      await it.runtime.cleanUp(id);
    }
  });

  const daemon = (
    id: string,
    script: string,
    mode: 'stay' | 'clean',
    env: Record<string, string> = {},
  ): ChildProcess =>
    spawn(
      process.execPath,
      ['--import', 'tsx', launcher, it.base, it.cgroupParent, id, script, mode],
      // Descriptors of ours that leak into a container would keep this pipe open.
      { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', mode === 'stay' ? 'inherit' : 'ignore'] },
    );

  test('goes on, keeps its log, can be attached to, and is told with its true exit by the next', async () => {
    const id = newId();
    const child = daemon(id, 'echo first; while read line; do echo "got $line"; done; exit 11', 'stay');
    await ready(child);
    child.kill('SIGKILL');
    await once(child, 'close');
    using next = openRuntime(it.base, it.cgroupParent);
    const channel = await next.attach(id);
    const output = readAll(channel);
    await channel.write(Buffer.from('one\n'));
    await expect
      .poll(() => readFileSync(join(it.base, `${id}.log`), 'utf8'))
      .toMatch(/F first\n.*F got one\n/);
    const request = { containerId: id, execId: newId(), stdin: false };
    const process = {
      terminal: false,
      user: { uid: 0, gid: 0 },
      args: ['kill', '1'],
      env: ['PATH=/bin'],
      cwd: '/',
    };
    const session = await next.exec({ ...request, process: { ...process, noNewPrivileges: false } });
    session.stdout.resume();
    session.stderr?.resume();
    expect(await session.exited).toBe(0);
    await next.killAll(id);
    expect((await it.exit(id)).exitCode).toBe(137);
    // Killed at once, the daemon may be gone before the first line was written.
    expect((await output).stdout.toString()).toMatch(/^(first\n)?got one\n$/);
    await next.cleanUp(id);
    next.forgetExit(id);
    expect(await it.remains()).toEqual([]);
  });

  test('and that ended while no daemon ran is told once, with the time of its end', async () => {
    const alone = makeRuntime();
    alone.runtime[Symbol.dispose]();
    const { id } = await alone.run(['sh', '-c', 'exit 23']);
    await expect.poll(() => alone.runtime.exitOf(id)?.exitCode).toBe(23);
    // `Date.now()` is cut to milliseconds.
    const ended = BigInt(Date.now() + 1) * 1_000_000n;
    await sleep(50);
    using next = openRuntime(alone.base, alone.cgroupParent);
    const told: unknown[] = [];
    next.onExit((exit) => told.push([exit.id, exit.exitCode, exit.finishedAtNano <= ended]));
    await expect.poll(() => told).toEqual([[id, 23, true]]);
    await sleep(100);
    expect(told).toHaveLength(1);
    await alone[Symbol.asyncDispose]();
  });

  test.each(['bundle', 'spawn', 'created'])(
    'launch that fails at runtime.launch.%s leaves nothing',
    async (step) => {
      const id = newId();
      const child = daemon(id, 'sleep 100', 'clean', { BERTH_FAILPOINTS: `runtime.launch.${step}=error(x)` });
      expect((await once(child, 'close'))[0]).toBe(1);
      await expect.poll(() => it.remains()).toEqual([]);
    },
  );

  test.each([
    'runtime.launch.bundle',
    'runtime.launch.spawn',
    'runtime.launch.created',
    'runtime.begin.fifo',
    'runtime.cleanup.cgroup',
    'runtime.cleanup.state',
    'runtime.cleanup.bundle',
  ])('at %s is found as a leftover and removed without a trace', async (name) => {
    const id = newId();
    const child = daemon(id, 'sleep 100', 'clean', { BERTH_FAILPOINTS: `${name}=sigkill` });
    expect((await once(child, 'close'))[1]).toBe('SIGKILL');
    using next = openRuntime(it.base, it.cgroupParent);
    expect(await next.leftovers()).toEqual([id]);
    await next.cleanUp(id);
    // Ended by us or before us: a recorded exit may be there, and nothing else.
    next.forgetExit(id);
    expect(await it.remains()).toEqual([]);
    await sleep(50);
    expect(await it.remains()).toEqual([]);
  });
});
