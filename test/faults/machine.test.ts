import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { describeEngine, onReference } from '../support/engine/engine.ts';
import type { Engine } from '../support/engine/engine.ts';
import { sleep, until } from '../support/engine/http.ts';
import { onPath } from '../support/needs.ts';
import { processFile, processState } from '../support/process.ts';

/** A machine that has run out of something, or whose disks hang. */
describeEngine('a machine in need', (engine) => {
  const needsLoop = test.runIf(existsSync('/dev/loop-control') && onPath('mkfs.ext4') && !onReference);

  needsLoop(
    'R14: processes that cannot be killed keep their own verbs waiting, and nobody else',
    async () => {
      await using disk = new HangingDisk(path.join(engine.daemon.paths.root, 'disk'));
      const stuck = await Promise.all(
        ['one', 'two', 'three'].map((name) =>
          engine.start(
            ['sh', '-c', 'touch /disk/x; sleep 1000'],
            { Binds: [`${disk.folder}:/disk`] },
            {},
            name,
          ),
        ),
      );
      for (const id of stuck) {
        const { State } = await engine.inspect(id);
        await until('a process in state D', () => childState(State.Pid) === 'D');
      }
      const verbs = [
        engine.http.request('POST', '/containers/one/stop?t=0'),
        engine.http.request('POST', '/containers/two/kill'),
        engine.http.request('DELETE', '/containers/three?force=1'),
      ];
      let answered = 0;
      verbs.forEach((verb) => void verb.finally(() => (answered += 1)));
      do {
        const started = performance.now();
        expect((await engine.list()).length).toBe(3);
        await engine.inspect('two');
        expect(performance.now() - started).toBeLessThan(8000);
        const { exitCode, id } = await engine.run(['true']);
        expect(exitCode).toBe(0);
        await engine.remove(id);
      } while (answered < verbs.length);
      disk.thaw();
      for (const id of stuck) {
        await until('its end', async () => {
          const { status, json } = await engine.http.request('GET', `/containers/${id}/json`);
          return status === 404 || !(json as { State: { Running: boolean } }).State.Running;
        });
        expect([204, 404]).toContain((await engine.http.request('DELETE', `/containers/${id}`)).status);
      }
    },
  );

  test.runIf(!onReference)('R60: no cgroup can be made: start says so, and works when one can', async () => {
    // Makes the parent of all cgroups.
    await engine.run(['true']);
    const id = await engine.create(['sleep', '1000']);
    // One hierarchy of several under version 1: those made before it must go again.
    const parent = memoryCgroup(engine);
    execFileSync('mount', ['--bind', parent, parent]);
    try {
      execFileSync('mount', ['-o', 'remount,bind,ro', parent]);
      const refused = await engine.http.request('POST', `/containers/${id}/start`);
      expect(refused.status).toBe(500);
      expect(refused.text).toMatch(/cgroup/);
      expect((await engine.inspect(id)).State).toMatchObject({ Status: 'created', Running: false });
    } finally {
      execFileSync('umount', [parent]);
    }
    await engine.http.ok('POST', `/containers/${id}/start`);
    await engine.untilState(id, 'running');
  });

  test.runIf(!onReference)(
    'R62: no descriptors are left: refused, and fine when there are some',
    async () => {
      const { pid } = engine.daemon;
      const id = await engine.create(['sleep', '1000']);
      const [, limit = ''] =
        /^Max open files\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/limits`, 'utf8')) ?? [];
      const open = readdirSync(`/proc/${pid}/fd`).map(Number);
      // The connection of this client is open already; from here on every new descriptor is one too many.
      for (const spare of [1, 4, 8, 12]) {
        execFileSync('prlimit', [`--pid=${pid}`, `--nofile=${Math.max(...open) + spare}:`]);
        const { status } = await engine.http
          .request('POST', `/containers/${id}/start`)
          .catch(() => ({ status: 0 }));
        execFileSync('prlimit', [`--pid=${pid}`, `--nofile=${limit}:`]);
        expect([0, 204, 304, 500, 503]).toContain(status);
        expect(engine.daemon.isRunning()).toBe(true);
        const { State } = await engine.inspect(id);
        if (State.Running) {
          await engine.http.ok('POST', `/containers/${id}/kill`);
        }
      }
      // Whether any of these attempts came that far or not.
      await engine.http.ok('POST', `/containers/${id}/start`);
      await engine.http.ok('POST', `/containers/${id}/kill`);
      await engine.untilState(id, 'exited');
      expect(await engine.run(['true'])).toMatchObject({ exitCode: 0 });
    },
  );

  test.runIf(!onReference)('R62: no process can be started: refused, and fine when one can', async () => {
    const id = await engine.create(['sleep', '1000']);
    await using box = await ProcessLimit.around(engine);
    for (const spare of [0, 1, 2, 3, 5, 8]) {
      box.allow(spare);
      const { status } = await engine.http.request('POST', `/containers/${id}/start`);
      box.lift();
      expect([204, 304, 500, 503]).toContain(status);
      expect(engine.daemon.isRunning()).toBe(true);
      if ((await engine.inspect(id)).State.Running) {
        await engine.http.ok('POST', `/containers/${id}/kill`);
      }
    }
    await engine.http.ok('POST', `/containers/${id}/start`);
    expect((await engine.exec(id, ['echo', 'alive'])).stdout).toBe('alive\n');
  });
});

/** A file system on which every write waits, uninterruptibly, until it thaws. */
class HangingDisk implements AsyncDisposable {
  readonly folder: string;
  #isFrozen = false;

  constructor(folder: string) {
    this.folder = folder;
    mkdirSync(folder);
    execFileSync('truncate', ['--size=8M', `${folder}.img`]);
    execFileSync('mkfs.ext4', ['-q', `${folder}.img`]);
    execFileSync('mount', ['-o', 'loop', `${folder}.img`, folder]);
    execFileSync('fsfreeze', ['--freeze', folder]);
    this.#isFrozen = true;
  }

  thaw(): void {
    if (this.#isFrozen) {
      this.#isFrozen = false;
      execFileSync('fsfreeze', ['--unfreeze', this.folder]);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.thaw();
    await sleep(50);
    execFileSync('umount', ['--lazy', this.folder]);
  }
}

/** A bound on the processes and threads of a daemon, which its containers are not under. */
class ProcessLimit implements AsyncDisposable {
  readonly #folder: string;
  readonly #home: string;
  readonly #pid: number;

  private constructor(folder: string, home: string, pid: number) {
    this.#folder = folder;
    this.#home = home;
    this.#pid = pid;
  }

  static async around({ daemon }: Engine): Promise<ProcessLimit> {
    const root = existsSync('/sys/fs/cgroup/pids') ? '/sys/fs/cgroup/pids' : '/sys/fs/cgroup';
    const line = readFileSync(`/proc/${daemon.pid}/cgroup`, 'utf8')
      .split('\n')
      .find((text) => /^\d+:(|pids):/.test(text) && (root.endsWith('pids') ? text.includes(':pids:') : true));
    const home = path.join(root, line?.split(':')[2] ?? '');
    const folder = path.join(root, `${daemon.name}-daemon`);
    mkdirSync(folder);
    writeFileSync(path.join(folder, 'cgroup.procs'), String(daemon.pid));
    return new ProcessLimit(folder, home, daemon.pid);
  }

  allow(spare: number): void {
    const current = Number(readFileSync(path.join(this.#folder, 'pids.current'), 'utf8'));
    writeFileSync(path.join(this.#folder, 'pids.max'), String(current + spare));
  }

  lift(): void {
    writeFileSync(path.join(this.#folder, 'pids.max'), 'max');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.lift();
    // Monitors that it started are in there as well.
    const inside = (): string[] =>
      readFileSync(path.join(this.#folder, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean);
    await until('all to have left', () => {
      for (const pid of [...inside(), this.#pid]) {
        try {
          writeFileSync(path.join(this.#home, 'cgroup.procs'), String(pid));
        } catch {
          // Ended meanwhile.
        }
      }
      return inside().length === 0;
    });
    rmdirSync(this.#folder);
  }
}

/** Of the daemon's cgroup in the hierarchy of the memory controller; of version 2 the only one. */
function memoryCgroup({ daemon }: Engine): string {
  const root = existsSync('/sys/fs/cgroup/memory') ? '/sys/fs/cgroup/memory' : '/sys/fs/cgroup';
  return path.join(root, daemon.cgroupParent);
}

/** State of the first child of a process, as proc(5) has it. */
function childState(pid: number): string {
  const [child = ''] = processFile(pid, `task/${pid}/children`).split(' ');
  return processState(Number(child));
}
