import { expect, test } from 'vitest';
import { parseHostCpu, parseInterfaces } from '../../../../runtime/cgroups/sample.ts';
import { readVersion1 } from '../../../../runtime/cgroups/stats-v1.ts';
import { readVersion2 } from '../../../../runtime/cgroups/stats-v2.ts';

const VERSION_1: Record<string, string> = {
  'cpuacct/cpuacct.usage': '26160814\n',
  'cpuacct/cpuacct.usage_percpu': '971524 25189290 \n',
  'cpuacct/cpuacct.stat': 'user 1\nsystem 2\n',
  'cpu/cpu.stat': 'nr_periods 5\nnr_throttled 3\nthrottled_time 400\n',
  'memory/memory.usage_in_bytes': '327680\n',
  'memory/memory.max_usage_in_bytes': '3825664\n',
  'memory/memory.failcnt': '7\n',
  'memory/memory.limit_in_bytes': '67108864\n',
  'memory/memory.stat': 'cache 4096\nrss 53248\nhierarchical_memory_limit 67108864\ntotal_rss 53248\n',
  'pids/pids.current': '2\n',
  'pids/pids.max': '50\n',
  'blkio/blkio.throttle.io_service_bytes_recursive':
    '8:0 Read 4096\n8:0 Write 8192\n8:0 Sync 0\n8:0 Total 12288\nTotal 12288\n',
  'blkio/blkio.throttle.io_serviced_recursive': 'Total 0\n',
};

const VERSION_2: Record<string, string> = {
  'cpu.stat':
    'usage_usec 1500\nuser_usec 1000\nsystem_usec 500\nnr_periods 5\nnr_throttled 3\nthrottled_usec 4\n',
  'memory.current': '327680\n',
  'memory.max': 'max\n',
  'memory.events': 'low 0\nhigh 0\nmax 9\noom 2\noom_kill 1\n',
  'memory.stat': 'anon 53248\nfile 4096\ninactive_file 1024\n',
  'pids.current': '2\n',
  'pids.max': 'max\n',
  'io.stat': '8:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n253:1 \n',
};

test('stats: version 1', () => {
  expect(readVersion1((controller, file) => VERSION_1[`${controller}/${file}`])).toEqual({
    cpu: {
      totalNs: 26_160_814,
      kernelNs: 20_000_000,
      userNs: 10_000_000,
      perCpuNs: [971_524, 25_189_290],
      periods: 5,
      throttledPeriods: 3,
      throttledNs: 400,
    },
    memory: {
      usageBytes: 327_680,
      maxUsageBytes: 3_825_664,
      failCount: 7,
      limitBytes: 67_108_864,
      stat: { cache: 4096, rss: 53_248, hierarchical_memory_limit: 67_108_864, total_rss: 53_248 },
    },
    pids: { current: 2, limit: 50 },
    block: {
      serviceBytes: [
        { major: 8, minor: 0, op: 'Read', value: 4096 },
        { major: 8, minor: 0, op: 'Write', value: 8192 },
        { major: 8, minor: 0, op: 'Sync', value: 0 },
        { major: 8, minor: 0, op: 'Total', value: 12_288 },
      ],
      serviced: [],
    },
  });
});

test('stats: version 2', () => {
  expect(readVersion2((file) => VERSION_2[file])).toEqual({
    cpu: {
      totalNs: 1_500_000,
      kernelNs: 500_000,
      userNs: 1_000_000,
      perCpuNs: undefined,
      periods: 5,
      throttledPeriods: 3,
      throttledNs: 4000,
    },
    memory: {
      usageBytes: 327_680,
      maxUsageBytes: undefined,
      failCount: 2,
      limitBytes: Number.POSITIVE_INFINITY,
      stat: { anon: 53_248, file: 4096, inactive_file: 1024 },
    },
    pids: { current: 2, limit: undefined },
    block: {
      serviceBytes: [
        { major: 8, minor: 0, op: 'read', value: 4096 },
        { major: 8, minor: 0, op: 'write', value: 8192 },
        { major: 253, minor: 1, op: 'read', value: 0 },
        { major: 253, minor: 1, op: 'write', value: 0 },
      ],
      serviced: [
        { major: 8, minor: 0, op: 'read', value: 1 },
        { major: 8, minor: 0, op: 'write', value: 2 },
        { major: 253, minor: 1, op: 'read', value: 0 },
        { major: 253, minor: 1, op: 'write', value: 0 },
      ],
    },
  });
});

test('stats: a cgroup that is gone has none', () => {
  expect(readVersion1(() => undefined)).toBeUndefined();
  expect(readVersion2(() => undefined)).toBeUndefined();
});

test('stats: interfaces, without the loopback one', () => {
  const text = `Inter-|   Receive  |  Transmit
 face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls carrier compressed
    lo:     100       1    0    0    0     0    0    0  100   1    0    0    0     0       0          0
  eth0: 572 6 1 2 0 0 0 0 84 3 4 5 0 0 0 0
`;
  expect(parseInterfaces(text)).toEqual({
    eth0: {
      rxBytes: 572,
      rxPackets: 6,
      rxErrors: 1,
      rxDropped: 2,
      txBytes: 84,
      txPackets: 3,
      txErrors: 4,
      txDropped: 5,
    },
  });
  expect(parseInterfaces('')).toEqual({});
});

test('stats: the host counts user to softirq, not what guests use again', () => {
  const text = 'cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\ncpu1 0 0 0 0 0 0 0 0 0 0\nintr 5\n';
  expect(parseHostCpu(text)).toEqual({ totalNs: 280_000_000, online: 2 });
});
