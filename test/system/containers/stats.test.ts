import { expect, test } from 'vitest';
import type { ContainerStats } from '../../../api/types/container-stats.ts';
import { describeEngine, onReference, type Engine } from '../../support/engine/engine.ts';
import { until } from '../../support/engine/http.ts';

const MB = 1024 * 1024;

/** Statistics of a stream as they come; `close` hangs up. */
async function streamOf(
  engine: Engine,
  id: string,
): Promise<{ all: ContainerStats[]; isOver: () => boolean; close: () => void }> {
  const response = await engine.http.open('GET', `/containers/${id}/stats`);
  const all: ContainerStats[] = [];
  let rest = '';
  let over = false;
  response.on('data', (chunk: Buffer) => {
    const lines = (rest + chunk.toString()).split('\n');
    rest = lines.pop() ?? '';
    all.push(...lines.filter(Boolean).map((line): ContainerStats => JSON.parse(line)));
  });
  response.on('end', () => {
    over = true;
  });
  response.on('error', () => undefined);
  return { all, isOver: () => over, close: () => response.destroy() };
}

describeEngine('stats', (engine) => {
  const stats = (id: string, query = '?stream=0&one-shot=1'): Promise<ContainerStats> =>
    engine.http.ok('GET', `/containers/${id}/stats${query}`);

  test('stats: what a container uses, with what it may use', async () => {
    const id = await engine.start(
      ['sh', '-c', 'sleep 1000 & while :; do :; done'],
      { Memory: 64 * MB, MemorySwap: 64 * MB, PidsLimit: 50, NetworkMode: 'bridge' },
      {},
      'busy',
    );
    const before = Date.now() - 1;
    let found = await stats(id, '?stream=0');
    // A loop that does nothing else keeps one processor as busy as others let it: not every second of every machine.
    const used = (): number =>
      found.cpu_stats.cpu_usage.total_usage - found.precpu_stats.cpu_usage.total_usage;
    await until('a busy second', async () => {
      found = await stats(id, '?stream=0');
      return used() > 0.05e9 && found.pids_stats.current === 2;
    });
    expect(found).toMatchObject({
      name: '/busy',
      id,
      pids_stats: { current: 2, limit: 50 },
      num_procs: 0,
      storage_stats: {},
      memory_stats: { limit: 64 * MB },
      networks: { eth0: { rx_errors: 0, tx_dropped: 0 } },
      cpu_stats: { online_cpus: expect.any(Number), throttling_data: { periods: 0 } },
    });
    expect(Date.parse(found.read)).toBeGreaterThan(before);
    expect(Date.parse(found.read) - Date.parse(found.preread)).toBeGreaterThan(400);
    expect(found.memory_stats.usage).toBeGreaterThan(0);
    expect(Object.keys(found.networks ?? {})).toEqual(['eth0']);
    const passed = (found.cpu_stats.system_cpu_usage ?? 0) - (found.precpu_stats.system_cpu_usage ?? 0);
    expect(passed).toBeGreaterThan(0.5e9);
    expect(used() / passed).toBeLessThan(1.1);
  });

  test.each([
    ['none', undefined],
    ['host', undefined],
    ['bridge', ['eth0']],
  ])('stats: interfaces of network mode %s', async (mode, names) => {
    const id = await engine.start(['sleep', '1000'], { NetworkMode: mode });
    const { networks } = await stats(id, '?stream=0');
    expect(networks && Object.keys(networks)).toEqual(names);
  });

  test('stats: a container with the network of another one shows that', async () => {
    const donor = await engine.start(['sleep', '1000'], { NetworkMode: 'bridge' });
    const id = await engine.start(['sleep', '1000'], { NetworkMode: `container:${donor}` });
    expect(Object.keys((await stats(id, '?stream=0')).networks ?? {})).toEqual(['eth0']);
  });

  test('stats: of a container that does not run are zeroes with its name', async () => {
    const id = await engine.create(['true'], {}, {}, 'idle');
    const none = { usage_in_kernelmode: 0, usage_in_usermode: 0, total_usage: 0 };
    const cpu = {
      cpu_usage: none,
      throttling_data: { periods: 0, throttled_periods: 0, throttled_time: 0 },
    };
    const zero = {
      read: '0001-01-01T00:00:00Z',
      preread: '0001-01-01T00:00:00Z',
      pids_stats: {},
      num_procs: 0,
      storage_stats: {},
      cpu_stats: cpu,
      precpu_stats: cpu,
      memory_stats: {},
      name: '/idle',
      os_type: 'linux',
      id,
    };
    const { blkio_stats: blkio, ...found } = await stats(id, '?stream=0');
    expect(found).toEqual(zero);
    expect(new Set(Object.values(blkio))).toEqual(new Set([null]));
  });

  test('stats: one-shot answers at once, without a sample before', async () => {
    const id = await engine.start(['sleep', '1000']);
    const found = await stats(id);
    expect(found.preread).toBe('0001-01-01T00:00:00Z');
    expect(found.precpu_stats.system_cpu_usage).toBeUndefined();
    const both = await engine.http.request('GET', `/containers/${id}/stats?stream=1&one-shot=1`);
    expect([both.status, both.json]).toEqual([400, { message: 'cannot have stream=true and one-shot=true' }]);
    expect((await engine.http.request('GET', '/containers/nobody/stats')).status).toBe(404);
  });

  test('stats: a stream waits for its container, follows it, and ends with its removal', async () => {
    const id = await engine.create(['sleep', '1000']);
    const stream = await streamOf(engine, id);
    await until('zeroes', () => stream.all.some(({ pids_stats: { current } }) => current === undefined));
    await engine.http.ok('POST', `/containers/${id}/start`);
    await until(
      'two samples',
      () => stream.all.filter(({ pids_stats: { current } }) => current === 1).length > 1,
    );
    const [last] = stream.all.slice(-1);
    expect(Date.parse(last?.read ?? '')).toBeGreaterThan(Date.parse(last?.preread ?? ''));
    await engine.remove(id);
    await until('the end', () => stream.isOver());
  });

  test('stats: a paused container still has some', async () => {
    const id = await engine.start(['sleep', '1000']);
    await engine.http.ok('POST', `/containers/${id}/pause`);
    expect((await stats(id)).pids_stats.current).toBe(1);
  });

  test.runIf(!onReference)('stats: the clients of before 1.27 have no online_cpus', async () => {
    const id = await engine.start(['sleep', '1000']);
    const old = engine.daemon.at('1.26');
    const found = await old.ok<ContainerStats>('GET', `/containers/${id}/stats?stream=0`);
    expect(found.cpu_stats.system_cpu_usage).toBeGreaterThan(0);
    expect('online_cpus' in found.cpu_stats).toBe(false);
    old[Symbol.dispose]();
  });

  test.runIf(!onReference)('stats: clients of one container share its samples', async () => {
    const id = await engine.start(['sleep', '1000']);
    const streams = await Promise.all(Array.from({ length: 10 }, () => streamOf(engine, id)));
    // From when the last has joined until the first has read no further, all have the same.
    const common = (): string[][] => {
      const reads = streams.map(({ all }) => all.slice(1).map(({ read }) => read));
      const from =
        reads
          .map((times) => times.at(0) ?? '')
          .toSorted()
          .at(-1) ?? '';
      const to =
        reads
          .map((times) => times.at(-1) ?? '')
          .toSorted()
          .at(0) ?? '';
      return reads.map((times) => times.filter((time) => time >= from && time <= to));
    };
    await until('two that all have', () => common().every((times) => times.length > 1));
    expect(new Set(common().map((times) => times.join(' '))).size).toBe(1);
    streams.forEach(({ close }) => close());
  });
});

describeEngine('top', (engine) => {
  const top = async (
    id: string,
    query = '',
  ): Promise<[number, { Titles: string[]; Processes: string[][] }]> => {
    const { status, json } = await engine.http.request('GET', `/containers/${id}/top${query}`);
    return [status, json as { Titles: string[]; Processes: string[][] }];
  };

  test('top: lists every process of the container and no other', async () => {
    const id = await engine.start(['sh', '-c', 'sleep 1001 & sleep 1002 & wait']);
    const exec = await engine.http.ok<{ Id: string }>('POST', `/containers/${id}/exec`, {
      Cmd: ['sleep', '1003'],
    });
    await engine.http.ok('POST', `/exec/${exec.Id}/start`, { Detach: true });
    await expect
      .poll(async () => (await top(id))[1].Processes.map((line) => line.at(-1) ?? '').toSorted())
      .toEqual(['sh -c sleep 1001 & sleep 1002 & wait', 'sleep 1001', 'sleep 1002', 'sleep 1003']);
    const [status, { Titles, Processes }] = await top(id);
    expect([status, Titles]).toEqual([200, ['UID', 'PID', 'PPID', 'C', 'STIME', 'TTY', 'TIME', 'CMD']]);
    expect(new Set(Processes.map((line) => line.length))).toEqual(new Set([8]));
  });

  test.each([
    ['aux', ['USER', 'PID', '%CPU', '%MEM', 'VSZ', 'RSS', 'TTY', 'STAT', 'START', 'TIME', 'COMMAND']],
    ['-o pid,comm', ['PID', 'COMMAND']],
    ['-o  user,pid', ['USER', 'PID']],
    ['faux', ['USER', 'PID', '%CPU', '%MEM', 'VSZ', 'RSS', 'TTY', 'STAT', 'START', 'TIME', 'COMMAND']],
  ])('top: with ps_args=%s', async (args, titles) => {
    const id = await engine.start(['sleep', '1000']);
    const [status, answer] = await top(id, `?ps_args=${encodeURIComponent(args)}`);
    expect([status, answer.Titles, answer.Processes.length]).toEqual([200, titles, 1]);
  });

  test.each([
    ['-o comm', "Couldn't find PID field in ps output"],
    ['-o uid=PID', 'specifying "uid=PID" is not allowed'],
    ['--nope', 'error: unknown gnu long option'],
    ['$(touch${IFS}/tmp/x);', 'error'],
  ])('top: ps_args=%s is refused', async (args, message) => {
    const id = await engine.start(['sleep', '1000']);
    const [status, answer] = await top(id, `?ps_args=${encodeURIComponent(args)}`);
    expect([status, answer]).toEqual([
      onReference ? 500 : 400,
      { message: expect.stringContaining(message) },
    ]);
  });

  test('top: of a container that does not run is refused', async () => {
    const id = await engine.create(['true']);
    expect(await top(id)).toEqual([409, { message: `Container ${id} is not running` }]);
    expect((await top('nobody'))[0]).toBe(404);
  });
});
