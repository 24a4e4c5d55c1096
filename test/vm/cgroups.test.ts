import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { describeEngine, type Engine } from '../support/engine/engine.ts';
import { until } from '../support/engine/http.ts';
import { differences } from '../support/engine/oracle.ts';
import { property, systemctl } from '../support/engine/service.ts';

const ROOT = '/sys/fs/cgroup';
const MEGABYTE = 1024 * 1024;

/** The cgroup that the kernel shows for a process (version 2 has one). */
function cgroupOf(pid: number): string {
  return readFileSync(`/proc/${pid}/cgroup`, 'utf8').trim().replace(/^0::/, '');
}

/** A file of a container's cgroup. */
function value(id: string, file: string): string {
  return readFileSync(`${ROOT}/berth.slice/berth-${id}.scope/${file}`, 'utf8').trim();
}

/** What a container of this CgroupnsMode sees of itself. */
async function ownView(engine: Engine, CgroupnsMode: string): Promise<string> {
  return (await engine.run(['cat', '/proc/self/cgroup'], { CgroupnsMode })).stdout.trim();
}

describeEngine(
  'cgroup v2 under systemd',
  (engine) => {
    test('info: names driver and version', async () => {
      expect(await engine.http.ok('GET', '/info')).toMatchObject({
        CgroupDriver: 'systemd',
        CgroupVersion: '2',
        SecurityOptions: expect.arrayContaining(['name=cgroupns']),
      });
    });

    test('scope: a container is a unit of its slice, with its limits, and goes with its end', async () => {
      const id = await engine.start(['sleep', '100000'], {
        Memory: 64 * MEGABYTE,
        MemorySwap: 96 * MEGABYTE,
        MemoryReservation: 32 * MEGABYTE,
        NanoCpus: 500_000_000,
        CpuShares: 512,
        CpusetCpus: '0',
        PidsLimit: 32,
      });
      const scope = `berth-${id}.scope`;
      const { State } = await engine.inspect(id);
      expect(cgroupOf(State.Pid)).toBe(`/berth.slice/${scope}`);
      expect([property('ActiveState', scope), property('Slice', scope)]).toEqual(['active', 'berth.slice']);
      expect({
        memory: value(id, 'memory.max'),
        swap: value(id, 'memory.swap.max'),
        low: value(id, 'memory.low'),
        cpu: value(id, 'cpu.max'),
        // 512 of 1024 shares, on version 2's scale of 1 to 10000 (crun and runc: 1 + (shares - 2) * 9999 / 262142).
        weight: value(id, 'cpu.weight'),
        cpus: value(id, 'cpuset.cpus'),
        pids: value(id, 'pids.max'),
      }).toEqual({
        memory: String(64 * MEGABYTE),
        swap: String(32 * MEGABYTE),
        low: String(32 * MEGABYTE),
        cpu: '50000 100000',
        weight: '20',
        cpus: '0',
        pids: '32',
      });
      await engine.remove(id);
      await until('the scope to go', () => property('LoadState', scope) === 'not-found');
      expect(existsSync(`${ROOT}/berth.slice/${scope}`)).toBe(false);
    });

    test('limits: outlive a reload and a re-execution of systemd', async () => {
      const id = await engine.start(['sleep', '100000'], { Memory: 64 * MEGABYTE, PidsLimit: 40 });
      const before = ['memory.max', 'pids.max', 'cpu.max'].map((file) => value(id, file));
      await systemctl('daemon-reload');
      await systemctl('daemon-reexec');
      expect(['memory.max', 'pids.max', 'cpu.max'].map((file) => value(id, file))).toEqual(before);
      // The device rules are a BPF program that systemd might have replaced.
      const { exitCode, stderr } = await engine.exec(id, [
        'sh',
        '-c',
        'echo x >/dev/null && head -c 1 /dev/zero',
      ]);
      expect([exitCode, stderr]).toEqual([0, '']);
      expect(await differences(engine.daemon)).toEqual([]);
    });

    test('CgroupParent: is a slice, nested by its dashes, and shown by inspect', async () => {
      const id = await engine.start(['sleep', '100000'], { CgroupParent: 'berth-ci-jobs.slice' });
      const { State, HostConfig } = await engine.inspect(id);
      expect(HostConfig.CgroupParent).toBe('berth-ci-jobs.slice');
      expect(cgroupOf(State.Pid)).toBe(`/berth.slice/berth-ci.slice/berth-ci-jobs.slice/berth-${id}.scope`);
    });

    test.each(['/ci', 'ci', '-.slice', 'a--b.slice', 'a/b.slice'])(
      'CgroupParent: %s is no slice and is refused',
      async (CgroupParent) => {
        const answer = await engine.http.request('POST', '/containers/create', {
          body: { Image: 'busybox', HostConfig: { CgroupParent } },
        });
        expect([answer.status, answer.text]).toEqual([
          400,
          expect.stringContaining('cgroup-parent for systemd cgroup should be a valid slice named as'),
        ]);
      },
    );

    test('CgroupnsMode: private shows the container a root of its own, host the machine', async () => {
      expect(await ownView(engine, '')).toBe('0::/');
      expect(await ownView(engine, 'private')).toBe('0::/');
      expect(await ownView(engine, 'host')).toMatch(/^0::\/berth\.slice\/berth-[0-9a-f]{64}\.scope$/);
    });

    test('out of memory: inspect says so, and the container starts again', async () => {
      const id = await engine.start(
        ['sh', '-c', 'test -e /again && exit 3; touch /again; a=x; while :; do a=$a$a; done'],
        { Memory: 16 * MEGABYTE, MemorySwap: 16 * MEGABYTE },
      );
      expect(await engine.wait(id)).toBe(137);
      expect((await engine.inspect(id)).State).toMatchObject({ OOMKilled: true, ExitCode: 137 });
      // The unit of the first run may stand as failed.
      await engine.http.ok('POST', `/containers/${id}/start`);
      expect(await engine.wait(id)).toBe(3);
    });

    test('out of memory: a killed child is told too, and is not the next container’s', async () => {
      const host = { Memory: 16 * MEGABYTE, MemorySwap: 16 * MEGABYTE };
      const child = 'sh -c "a=x; while :; do a=\\$a\\$a; done"; exit 0';
      const { id } = await engine.run(['sh', '-c', child], host);
      expect((await engine.inspect(id)).State.OOMKilled).toBe(true);
      const next = await engine.start(['sleep', '100000'], host);
      await engine.http.ok('POST', `/containers/${next}/kill`);
      expect(await engine.wait(next)).toBe(137);
      expect((await engine.inspect(next)).State.OOMKilled).toBe(false);
    });

    test('kill: a tree of processes that breeds is gone at once', async () => {
      const breed = 'trap "" TERM; f() { while :; do sleep 0.01 & done; }; f & f & f';
      const id = await engine.start(['sh', '-c', breed], { PidsLimit: 100 });
      const scope = `${ROOT}/berth.slice/berth-${id}.scope`;
      await engine.http.ok('POST', `/containers/${id}/kill`);
      expect(await engine.wait(id)).toBe(137);
      await until('its cgroup to go', () => !existsSync(scope));
    });

    test('restart: a container whose scope was stopped by hand ends, and starts again', async () => {
      // A signal that ends a sleep, for systemd too.
      const id = await engine.start(['sleep', '100000'], {}, { StopSignal: 'SIGKILL', StopTimeout: 5 });
      const scope = `berth-${id}.scope`;
      expect([property('KillSignal', scope), property('TimeoutStopUSec', scope)]).toEqual(['9', '5s']);
      await systemctl('stop', scope);
      expect(await engine.wait(id)).toBe(137);
      await engine.http.ok('POST', `/containers/${id}/start`);
      const { State } = await engine.untilState(id, 'running');
      expect(cgroupOf(State.Pid)).toBe(`/berth.slice/${scope}`);
      expect(property('ActiveState', scope)).toBe('active');
    });
  },
  { alsoNeeds: ['guest'] },
);
