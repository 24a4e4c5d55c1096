import { expect, test } from 'vitest';
import type { LimitChanges } from '../../../../runtime/cgroups/limits.ts';
import { limitWrites, weightOfShares } from '../../../../runtime/cgroups/limits.ts';

const MB = 1024 * 1024;
const ALL: LimitChanges = {
  memory: { limitBytes: 64 * MB, withSwapBytes: 96 * MB },
  memoryReservationBytes: 32 * MB,
  cpuShares: 1024,
  cpuBandwidth: { quotaUs: 25_000, periodUs: 50_000 },
  cpusetCpus: '0-1',
  cpusetMems: '0',
  pids: 20,
  blkioWeight: 500,
};
const UNLIMITED: LimitChanges = {
  memory: { limitBytes: 64 * MB, withSwapBytes: -1 },
  memoryReservationBytes: -1,
  cpuBandwidth: { quotaUs: -1, periodUs: 100_000 },
  pids: -1,
};

const lines = (version: 1 | 2, changes: LimitChanges): string[] =>
  limitWrites(version, changes).map(
    ({ controller, files, value }) => `${controller} ${files.join('|')} ${value}`,
  );

test('limits: version 1', () => {
  expect(lines(1, ALL)).toEqual([
    `memory memory.limit_in_bytes ${64 * MB}`,
    `memory memory.memsw.limit_in_bytes ${96 * MB}`,
    `memory memory.soft_limit_in_bytes ${32 * MB}`,
    'cpu cpu.shares 1024',
    'cpu cpu.cfs_period_us 50000',
    'cpu cpu.cfs_quota_us 25000',
    'cpuset cpuset.cpus 0-1',
    'cpuset cpuset.mems 0',
    'pids pids.max 20',
    'blkio blkio.weight|blkio.bfq.weight 500',
  ]);
  expect(lines(1, UNLIMITED)).toEqual([
    `memory memory.limit_in_bytes ${64 * MB}`,
    'memory memory.memsw.limit_in_bytes -1',
    'memory memory.soft_limit_in_bytes -1',
    'cpu cpu.cfs_period_us 100000',
    'cpu cpu.cfs_quota_us -1',
    'pids pids.max max',
  ]);
});

test('limits: version 2 has other files, other scales, and swap apart from memory', () => {
  expect(lines(2, ALL)).toEqual([
    `memory memory.max ${64 * MB}`,
    `memory memory.swap.max ${32 * MB}`,
    `memory memory.low ${32 * MB}`,
    'cpu cpu.weight 39',
    'cpu cpu.max 25000 50000',
    'cpuset cpuset.cpus 0-1',
    'cpuset cpuset.mems 0',
    'pids pids.max 20',
    'blkio io.weight default 4950',
  ]);
  expect(lines(2, UNLIMITED)).toEqual([
    `memory memory.max ${64 * MB}`,
    'memory memory.swap.max max',
    'memory memory.low 0',
    'cpu cpu.max max 100000',
    'pids pids.max max',
  ]);
});

const DEVICES: LimitChanges = {
  blkioDevices: [
    { rule: 'weight', device: '8:0', value: 300 },
    { rule: 'readBps', device: '8:0', value: 1000 },
    { rule: 'writeBps', device: '8:0', value: 0 },
    { rule: 'readIops', device: '8:16', value: 10 },
    { rule: 'writeIops', device: '8:16', value: 0 },
    { rule: 'weight', device: '8:16', value: 0 },
  ],
};

test.each([
  [
    1,
    [
      'blkio blkio.bfq.weight_device 8:0 300',
      'blkio blkio.throttle.read_bps_device 8:0 1000',
      'blkio blkio.throttle.write_bps_device 8:0 0',
      'blkio blkio.throttle.read_iops_device 8:16 10',
      'blkio blkio.throttle.write_iops_device 8:16 0',
      'blkio blkio.bfq.weight_device 8:16 default',
    ],
  ],
  [
    2,
    [
      'blkio io.bfq.weight 8:0 300',
      'blkio io.max 8:0 rbps=1000',
      'blkio io.max 8:0 wbps=max',
      'blkio io.max 8:16 riops=10',
      'blkio io.max 8:16 wiops=max',
      'blkio io.bfq.weight 8:16 default',
    ],
  ],
] as const)('limits: rules for devices in version %i', (version, expected) => {
  expect(lines(version, DEVICES)).toEqual(expected);
});

test.each([
  [2, 1],
  [1024, 39],
  [262_144, 10_000],
  [1_000_000, 10_000],
])('limits: %i shares are a weight of %i', (shares, weight) => {
  expect(weightOfShares(shares)).toBe(weight);
});
