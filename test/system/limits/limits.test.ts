import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { cgroupDirectories } from '../../support/engine/cleanup.ts';
import { describeEngine, type Engine } from '../../support/engine/engine.ts';
import { until } from '../../support/engine/http.ts';

/** A file of the container's cgroup, whichever hierarchy (v1) or name (v2) holds it. */
function limit(engine: Engine, id: string, v1: string, v2: string): string {
  for (const folder of cgroupDirectories(engine.daemon.cgroupParent).filter((name) => name.includes(id))) {
    for (const name of [v1, v2]) {
      if (existsSync(`${folder}/${name}`)) {
        return readFileSync(`${folder}/${name}`, 'utf8').trim();
      }
    }
  }
  throw new Error(`no ${v1} in any cgroup of ${id}`);
}

/** The memory controller is one of cgroup version 1 here. */
const hasMemoryV1 = existsSync('/sys/fs/cgroup/memory/memory.oom_control');

describeEngine('limits', (engine) => {
  test('limits: memory, cpu and pids stand in the cgroup', async () => {
    const id = await engine.start(['sleep', '1000'], {
      Memory: 64 * 1024 * 1024,
      PidsLimit: 32,
      CpuShares: 512,
      NanoCpus: 500_000_000,
      CpusetCpus: '0',
    });
    expect({
      memory: limit(engine, id, 'memory.limit_in_bytes', 'memory.max'),
      pids: limit(engine, id, 'pids.max', 'pids.max'),
      cpus: limit(engine, id, 'cpuset.cpus', 'cpuset.cpus'),
      quota: limit(engine, id, 'cpu.cfs_quota_us', 'cpu.max').split(' ')[0],
    }).toEqual({ memory: '67108864', pids: '32', cpus: '0', quota: '50000' });
  });

  test('limits: more memory than allowed is killed, and inspect says why', async () => {
    const { id, exitCode } = await engine.run(['sh', '-c', 'a=x; while :; do a=$a$a; done'], {
      Memory: 16 * 1024 * 1024,
      MemorySwap: 16 * 1024 * 1024,
    });
    expect(exitCode).toBe(137);
    expect((await engine.inspect(id)).State.OOMKilled).toBe(true);
  });

  /** Actions of a container's events so far. */
  const actionsOf = async (id: string): Promise<string[]> => {
    const filters = encodeURIComponent(JSON.stringify({ container: [id], type: ['container'] }));
    const query = `since=0&until=${(Date.now() + 1) / 1000}&filters=${filters}`;
    const { text } = await engine.http.request('GET', `/events?${query}`);
    return text
      .split('\n')
      .filter(Boolean)
      .map((line) => (JSON.parse(line) as { Action: string }).Action);
  };

  test('R20: oom is told before the end, once, however fast that comes', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { id } = await engine.run(['sh', '-c', 'a=x; while :; do a=$a$a; done'], {
        Memory: 8 * 1024 * 1024,
        MemorySwap: 8 * 1024 * 1024,
      });
      expect((await engine.inspect(id)).State.OOMKilled).toBe(true);
      expect(await actionsOf(id)).toEqual(['create', 'start', 'oom', 'die']);
    }
  });

  test('oom: of a child is told while the container goes on', async () => {
    const id = await engine.start(
      ['sh', '-c', 'sh -c "a=x; while :; do a=\\$a\\$a; done"; sleep 1000; true'],
      { Memory: 16 * 1024 * 1024, MemorySwap: 16 * 1024 * 1024 },
    );
    await until('the event', async () => (await actionsOf(id)).includes('oom'));
    expect((await engine.inspect(id)).State).toMatchObject({ Status: 'running', OOMKilled: true });
    await engine.http.ok('POST', `/containers/${id}/kill`);
    expect((await engine.inspect(id)).State.OOMKilled).toBe(true);
    expect((await actionsOf(id)).filter((action) => action === 'oom')).toEqual(['oom']);
  });

  // Version 2 has no such switch.
  if (hasMemoryV1) {
    test('oom: of a container whose killer is switched off is told, and it waits', async () => {
      const id = await engine.start(['sh', '-c', 'a=xxxxxxxxxxxxxxxx; while :; do a=$a$a; done'], {
        Memory: 8 * 1024 * 1024,
        MemorySwap: 8 * 1024 * 1024,
        OomKillDisable: true,
      });
      await until('the event', async () => (await actionsOf(id)).includes('oom'));
      expect((await engine.inspect(id)).State).toMatchObject({ Status: 'running', OOMKilled: false });
      expect(await actionsOf(id)).toEqual(['create', 'start', 'oom']);
    });
  }

  test('limits: a fork bomb stays in its box', async () => {
    const { stdout } = await engine.run(
      ['sh', '-c', 'for i in $(seq 50); do sleep 5 & done 2>/dev/null; jobs -p | wc -l; kill 0'],
      { PidsLimit: 20 },
    );
    expect(Number(stdout.trim() || '0')).toBeLessThan(20);
  });

  test.each([
    ['too little memory', { Memory: 1024 }],
    ['swap below memory', { Memory: 64 << 20, MemorySwap: 32 << 20 }],
    ['NanoCpus with CpuQuota', { NanoCpus: 1_000_000_000, CpuQuota: 1000, CpuPeriod: 10_000 }],
    ['more cpus than there are', { NanoCpus: 1_000_000_000_000 }],
    ['a cpu that is not there', { CpusetCpus: '0-999' }],
  ])('create: %s is refused', async (_what, host) => {
    const answer = await engine.http.request('POST', '/containers/create', {
      body: { Image: 'busybox', HostConfig: host },
    });
    expect(answer.status).toBe(400);
  });

  test('ulimits: reach the process', async () => {
    const { stdout } = await engine.run(['sh', '-c', 'ulimit -n'], {
      Ulimits: [{ Name: 'nofile', Soft: 512, Hard: 512 }],
    });
    expect(stdout).toBe('512\n');
  });
});
