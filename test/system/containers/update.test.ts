import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { ContainerUpdateRequest } from '../../../api/types/container.ts';
import { cgroupDirectories } from '../../support/engine/cleanup.ts';
import { describeEngine, onReference, type Engine } from '../../support/engine/engine.ts';
import { until } from '../../support/engine/http.ts';

const MB = 1024 * 1024;

/** A file of the container's cgroup, whichever hierarchy (v1) or name (v2) holds it. */
function limit(engine: Engine, id: string, ...names: string[]): string {
  for (const folder of cgroupDirectories(engine.daemon.cgroupParent).filter((name) => name.includes(id))) {
    for (const name of names) {
      if (existsSync(`${folder}/${name}`)) {
        return readFileSync(`${folder}/${name}`, 'utf8').trim();
      }
    }
  }
  throw new Error(`no ${names[0]} in any cgroup of ${id}`);
}

describeEngine('update', (engine) => {
  const update = async (id: string, body: ContainerUpdateRequest): Promise<[number, unknown]> => {
    const { status, json } = await engine.http.request('POST', `/containers/${id}/update`, { body });
    return [status, json];
  };
  const memoryOf = (id: string): string => limit(engine, id, 'memory.limit_in_bytes', 'memory.max');

  test('update: limits of a running container stand in its cgroup and in inspect, and tell an event', async () => {
    const since = (Date.now() - 1) / 1000;
    const id = await engine.start(['sleep', '1000'], { Memory: 64 * MB, MemorySwap: 128 * MB });
    const [status, answer] = await update(id, {
      Memory: 256 * MB,
      MemorySwap: 512 * MB,
      CpuShares: 512,
      CpuPeriod: 50_000,
      CpuQuota: 25_000,
      CpusetCpus: '0',
      PidsLimit: 50,
      RestartPolicy: { Name: 'on-failure', MaximumRetryCount: 3 },
    });
    expect([status, (answer as { Warnings: unknown }).Warnings]).toEqual([200, onReference ? null : []]);
    expect({
      memory: memoryOf(id),
      pids: limit(engine, id, 'pids.max'),
      cpus: limit(engine, id, 'cpuset.cpus'),
      quota: limit(engine, id, 'cpu.cfs_quota_us', 'cpu.max').split(' ')[0],
    }).toEqual({ memory: String(256 * MB), pids: '50', cpus: '0', quota: '25000' });
    expect((await engine.inspect(id)).HostConfig).toMatchObject({
      Memory: 256 * MB,
      MemorySwap: 512 * MB,
      CpuShares: 512,
      CpuPeriod: 50_000,
      CpuQuota: 25_000,
      CpusetCpus: '0',
      PidsLimit: 50,
      RestartPolicy: { Name: 'on-failure', MaximumRetryCount: 3 },
    });
    const filters = encodeURIComponent(JSON.stringify({ container: [id], event: ['update'] }));
    const { text } = await engine.http.request(
      'GET',
      `/events?since=${since}&until=${(Date.now() + 1) / 1000}&filters=${filters}`,
    );
    expect(text.split('\n').filter(Boolean)).toHaveLength(1);
  });

  test('update: memory and swap go up and down in any order', async () => {
    const id = await engine.start(['sleep', '1000'], { Memory: 64 * MB, MemorySwap: 64 * MB });
    for (const megabytes of [512, 32, 100, 16]) {
      const bytes = megabytes * MB;
      expect((await update(id, { Memory: bytes, MemorySwap: bytes }))[0]).toBe(200);
      expect(memoryOf(id)).toBe(String(bytes));
    }
    expect((await update(id, { MemorySwap: -1 }))[0]).toBe(200);
    expect((await engine.inspect(id)).HostConfig.MemorySwap).toBe(-1);
  });

  test('update: a container that does not run has its new limits from its next start on', async () => {
    const id = await engine.create(['sleep', '1000']);
    expect((await update(id, { Memory: 64 * MB, MemorySwap: 64 * MB, PidsLimit: 20 }))[0]).toBe(200);
    await engine.http.ok('POST', `/containers/${id}/start`);
    expect([memoryOf(id), limit(engine, id, 'pids.max')]).toEqual([String(64 * MB), '20']);
    // And loses one again while it runs.
    expect((await update(id, { PidsLimit: -1 }))[0]).toBe(200);
    expect(limit(engine, id, 'pids.max')).toBe('max');
  });

  test('update: memory below what is in use is refused, and nothing else has changed', async () => {
    const id = await engine.start(
      ['sh', '-c', 'a=x; while [ ${#a} -lt 20000000 ]; do a=$a$a; done; echo ready; sleep 1000; true'],
      { Memory: 256 * MB, MemorySwap: 256 * MB },
    );
    await until('memory to be used', async () => (await engine.logs(id)).stdout.includes('ready'));
    const before = (await engine.inspect(id)).HostConfig;
    const shares = limit(engine, id, 'cpu.shares', 'cpu.weight');
    const [status, answer] = await update(id, { Memory: 6 * MB, MemorySwap: 6 * MB, CpuShares: 64 });
    expect([status, answer]).toEqual([
      500,
      {
        message: expect.stringMatching(
          new RegExp(`Cannot update container ${id}: .*unable to set memory limit`),
        ),
      },
    ]);
    expect((await engine.inspect(id)).HostConfig).toEqual(before);
    expect([memoryOf(id), ...(onReference ? [] : [limit(engine, id, 'cpu.shares', 'cpu.weight')])]).toEqual([
      String(256 * MB),
      ...(onReference ? [] : [shares]),
    ]);
  });

  test('update: a restart policy is in force for the run that goes on', async () => {
    const id = await engine.start(['sh', '-c', 'until [ -e /go ]; do sleep 0.05; done; exit 3']);
    expect((await update(id, { RestartPolicy: { Name: 'on-failure', MaximumRetryCount: 1 } }))[0]).toBe(200);
    await engine.exec(id, ['touch', '/go']);
    await until('one restart', async () => (await engine.inspect(id)).RestartCount === 1);
    await engine.untilState(id, 'exited');
  });

  test.each<
    [
      string,
      { Memory?: number; NanoCpus?: number; CpuQuota?: number; AutoRemove?: boolean },
      ContainerUpdateRequest,
      number,
      string,
    ]
  >([
    [
      'memory above the swap limit',
      { Memory: 64 * MB },
      { Memory: 512 * MB },
      409,
      'Memory limit should be smaller than already set memoryswap limit, update the memoryswap at the same time',
    ],
    ['too little memory', {}, { Memory: 1024 }, 400, 'Minimum memory limit allowed is 6MB'],
    [
      'NanoCpus beside a quota',
      { CpuQuota: 50_000 },
      { NanoCpus: 1_000_000_000 },
      409,
      'Conflicting options: Nano CPUs cannot be updated as CPU Quota has already been set',
    ],
    [
      'a quota beside NanoCpus',
      { NanoCpus: 1_000_000_000 },
      { CpuQuota: 50_000 },
      409,
      'Conflicting options: CPU Quota cannot be updated as NanoCPUs has already been set',
    ],
    ['a cpu that is not there', {}, { CpusetCpus: '0-999' }, 400, 'Requested CPUs are not available'],
    [
      'a restart policy with AutoRemove',
      { AutoRemove: true },
      { RestartPolicy: { Name: 'always' } },
      409,
      'Restart policy cannot be updated because AutoRemove is enabled for the container',
    ],
    ['an unknown restart policy', {}, { RestartPolicy: { Name: 'never' } }, 400, 'invalid restart policy'],
  ])('update: %s is refused', async (_what, host, body, status, message) => {
    const id = await engine.create(['sleep', '1000'], host);
    const before = (await engine.inspect(id)).HostConfig;
    const [actual, answer] = await update(id, body);
    expect((answer as { message: string }).message).toContain(message);
    if (!onReference) {
      expect(actual).toBe(status);
    }
    expect((await engine.inspect(id)).HostConfig).toEqual(before);
  });

  test.runIf(!onReference)('update: what dockerd takes and forgets is refused by name', async () => {
    const id = await engine.create(['true'], { Ulimits: [{ Name: 'nofile', Soft: 512, Hard: 512 }] });
    expect(await update(id, { Ulimits: [{ Name: 'nofile', Soft: 1, Hard: 1 }] })).toEqual([
      400,
      {
        message: 'Ulimits of a container cannot be updated (Ulimits: [{"Name":"nofile","Soft":1,"Hard":1}])',
      },
    ]);
    expect(await update(id, { Init: true })).toEqual([
      400,
      { message: 'Init of a container cannot be updated (Init: true)' },
    ]);
    // A client that sends back what it has read changes nothing.
    const { Ulimits = null } = (await engine.inspect(id)).HostConfig;
    expect((await update(id, { Ulimits, CpuShares: 100 }))[0]).toBe(200);
  });

  test('update: of a container that is not there is 404', async () => {
    expect((await update('nobody', { CpuShares: 10 }))[0]).toBe(404);
  });

  test('update: a paused container takes new limits', async () => {
    const id = await engine.start(['sleep', '1000']);
    await engine.http.ok('POST', `/containers/${id}/pause`);
    expect((await update(id, { CpuShares: 128 }))[0]).toBe(200);
    expect((await engine.inspect(id)).HostConfig.CpuShares).toBe(128);
    expect((await engine.inspect(id)).State.Status).toBe('paused');
  });

  test.runIf(!onReference)('update: is kept over kill -9 of the daemon', async () => {
    const id = await engine.start(['sleep', '1000']);
    await update(id, { CpuShares: 128, RestartPolicy: { Name: 'always' } });
    await engine.daemon.restart();
    expect((await engine.inspect(id)).HostConfig).toMatchObject({
      CpuShares: 128,
      RestartPolicy: { Name: 'always' },
    });
  });
});
