import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { adoptOrphans, endOf, expectChildren } from '../../../../daemon/base/kernel/processes/children.ts';
import { Poller } from '../../../../daemon/base/kernel/sockets/poller.ts';
import { spawnSession } from '../../../../daemon/base/kernel/processes/spawn.ts';

const shell = (script: string): Promise<number> =>
  spawnSession({
    path: '/bin/sh',
    argv: ['sh', '-c', script],
    cwd: tmpdir(),
    env: { PATH: '/usr/bin:/bin' },
    stdio: [null, null, null],
  });

describe('children', () => {
  it.each([
    ['exit 0', 0],
    ['exit 7', 7],
    ['sleep 0.05; exit 255', 255],
    ['kill -9 $$', 137],
  ])('end: sh -c %j ends with %i', async (script, exitCode) => {
    expect(await endOf(await shell(script), new Poller())).toBe(exitCode);
  });

  it('sweep: a child that ends before its parent hears of its start is not taken from it', async () => {
    using _adopting = adoptOrphans();
    using _expected = expectChildren();
    const pid = await shell('exit 5');
    // Longer than a sweep takes to come.
    await sleep(1500);
    expect(await endOf(pid, new Poller())).toBe(5);
  });

  it('sweep: a child of another thread is left to that thread, however long it looks away', async () => {
    using _adopting = adoptOrphans();
    const code = `
      const { spawn } = require('node:child_process');
      const { parentPort, workerData } = require('node:worker_threads');
      import('tsx/esm/api').then(({ register }) => { register(); return import(workerData); }).then((children) => {
        const expected = children.expectChildren();
        const child = spawn('/bin/sh', ['-c', 'exit 5']);
        children.claimChild(child.pid);
        expected[Symbol.dispose]();
        child.once('exit', (exitCode) => parentPort.postMessage(exitCode));
        // Longer than a sweep takes to come.
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500);
      });`;
    const module = new URL('../../../../daemon/base/kernel/processes/children.ts', import.meta.url).href;
    const worker = new Worker(code, { eval: true, workerData: module, execArgv: [] });
    const [exitCode] = (await once(worker, 'message')) as [number];
    await worker.terminate();
    expect(exitCode).toBe(5);
  });

  it('sweep: a child of Node.js whose end waits for a busy event loop is left to Node.js', async () => {
    using _adopting = adoptOrphans();
    const child = spawn('/bin/sh', ['-c', 'exit 5']);
    // Ends meanwhile, and the sweep is due before the loop looks for signals again.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500);
    expect(await once(child, 'exit')).toEqual([5, null]);
  });

  it('orphans: one that somebody waits for tells its exit code, another is taken away', async () => {
    using _adopting = adoptOrphans();
    const file = path.join(mkdtempSync(path.join(tmpdir(), 'berth-children-')), 'pids');
    let expected: Promise<number>;
    {
      using _expected = expectChildren();
      const parent = await shell(
        `(sleep 0.05; exit 3) & echo $! >${file}; (sleep 0.05; exit 4) & echo $! >>${file}`,
      );
      await endOf(parent, new Poller());
      expected = endOf(pids(file)[0] ?? 0, new Poller());
    }
    expect(await expected).toBe(3);
    await expect.poll(() => existsSync(`/proc/${pids(file)[1]}`)).toBe(false);
  });
});

function pids(file: string): number[] {
  return readFileSync(file, 'utf8').trim().split('\n').map(Number);
}
