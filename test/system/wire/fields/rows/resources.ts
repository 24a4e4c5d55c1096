import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import type { HostConfig } from '../../../../../api/types/host-config.ts';
import type { FieldRow } from '../table.ts';

const MEBIBYTE = 1024 * 1024;
/** A block device that machines have; nothing is read or written there. */
const DISK = '/dev/loop0';

/** Only cgroup version 1 has them, and few kernels; elsewhere a create that asks is refused. */
const hasRealtimeGroups = existsSync('/sys/fs/cgroup/cpu/cpu.rt_runtime_us');

/** The first word of a cgroup file. */
function limited(
  fields: string | readonly string[],
  HostConfig: HostConfig,
  files: readonly [v1: string, v2: string],
  expected: string,
): FieldRow {
  const names = typeof fields === 'string' ? [fields] : fields;
  return {
    field: names.map((name) => `HostConfig.${name}`),
    ask: { HostConfig },
    observe: (look) => look.cgroup(...files).split(/\s/)[0],
    expected,
  };
}

/** In the file where the kernel has it, else dropped with a warning: which of them, this machine decides. */
function whereThere(
  fields: readonly string[],
  HostConfig: HostConfig,
  files: readonly [v1: string, v2: string],
  shown: { inFile: RegExp; warning: RegExp },
): FieldRow {
  return {
    field: fields.map((name) => `HostConfig.${name}`),
    ask: { HostConfig },
    observe: (look) =>
      look.warnings.some((text) => shown.warning.test(text)) || shown.inFile.test(look.cgroup(...files)),
    expected: true,
  };
}

/** `7:0 1048576` in version 1, `7:0 rbps=1048576 ...` in version 2. */
function throttled(which: 'ReadBps' | 'WriteBps' | 'ReadIOps' | 'WriteIOps', file: string): FieldRow {
  const field = `BlkioDevice${which}`;
  return whereThere(
    [`${field}.Path`, `${field}.Rate`],
    { [field]: [{ Path: DISK, Rate: 12_345 }] },
    [`blkio.throttle.${file}_device`, 'io.max'],
    { inFile: /^7:0 .*12345/m, warning: /Block I\/O|IOPS Block/ },
  );
}

function warned(field: keyof HostConfig, HostConfig: HostConfig, warning: RegExp): FieldRow {
  return {
    field: `HostConfig.${field}`,
    what: 'is dropped with a warning',
    ask: { HostConfig },
    observe: async (look) => {
      const shown = (await look.inspect()).HostConfig[field];
      return [look.warnings.some((text) => warning.test(text)), shown ?? 0];
    },
    expected: [true, 0],
  };
}

export const resourceRows: readonly FieldRow[] = [
  limited(
    'Memory',
    { Memory: 64 * MEBIBYTE },
    ['memory.limit_in_bytes', 'memory.max'],
    String(64 * MEBIBYTE),
  ),
  {
    field: 'HostConfig.MemorySwap',
    what: 'memory and swap together, which version 2 counts apart',
    ask: { HostConfig: { Memory: 64 * MEBIBYTE, MemorySwap: 96 * MEBIBYTE } },
    observe: (look) => {
      const mebibytes = Number(look.cgroup('memory.memsw.limit_in_bytes', 'memory.swap.max')) / MEBIBYTE;
      return mebibytes === 96 || mebibytes === 32;
    },
    expected: true,
  },
  limited(
    'MemoryReservation',
    { MemoryReservation: 32 * MEBIBYTE },
    ['memory.soft_limit_in_bytes', 'memory.low'],
    String(32 * MEBIBYTE),
  ),
  whereThere(['MemorySwappiness'], { MemorySwappiness: 7 }, ['memory.swappiness', 'memory.max'], {
    inFile: /^7$/,
    warning: /swappiness/,
  }),
  whereThere(
    ['OomKillDisable'],
    { OomKillDisable: true, Memory: 64 * MEBIBYTE },
    ['memory.oom_control', 'memory.max'],
    { inFile: /^oom_kill_disable 1/, warning: /OomKillDisable discarded/ },
  ),
  {
    field: 'HostConfig.KernelMemory',
    what: 'is of versions before 1.42, and no longer limits',
    ask: { HostConfig: { KernelMemory: 64 * MEBIBYTE } },
    observe: async (look) => (await look.inspect()).HostConfig.KernelMemory ?? 0,
    expected: 0,
  },
  {
    field: 'HostConfig.KernelMemoryTCP',
    what: 'is of versions before 1.52, and no longer limits',
    ask: { HostConfig: { KernelMemoryTCP: 64 * MEBIBYTE } },
    observe: async (look) => (await look.inspect()).HostConfig.KernelMemoryTCP ?? 0,
    expected: 0,
  },
  {
    field: 'HostConfig.CpuShares',
    what: 'as they are, or as the weight of version 2',
    ask: { HostConfig: { CpuShares: 512 } },
    observe: (look) => ['512', '20', '59'].includes(look.cgroup('cpu.shares', 'cpu.weight')),
    expected: true,
  },
  limited(['CpuQuota'], { CpuQuota: 20_000 }, ['cpu.cfs_quota_us', 'cpu.max'], '20000'),
  {
    field: 'HostConfig.CpuPeriod',
    ask: { HostConfig: { CpuPeriod: 50_000, CpuQuota: 10_000 } },
    observe: (look) => look.cgroup('cpu.cfs_period_us', 'cpu.max').split(' ').at(-1),
    expected: '50000',
  },
  limited(['NanoCpus'], { NanoCpus: 300_000_000 }, ['cpu.cfs_quota_us', 'cpu.max'], '30000'),
  limited(['CpusetCpus'], { CpusetCpus: '0' }, ['cpuset.cpus', 'cpuset.cpus'], '0'),
  limited(['CpusetMems'], { CpusetMems: '0' }, ['cpuset.mems', 'cpuset.mems'], '0'),
  limited(['PidsLimit'], { PidsLimit: 33 }, ['pids.max', 'pids.max'], '33'),
  whereThere(['BlkioWeight'], { BlkioWeight: 300 }, ['blkio.bfq.weight', 'io.bfq.weight'], {
    inFile: /300/,
    warning: /Block I\/O weight/,
  }),
  whereThere(
    ['BlkioWeightDevice.Path', 'BlkioWeightDevice.Weight'],
    { BlkioWeightDevice: [{ Path: DISK, Weight: 300 }] },
    ['blkio.bfq.weight_device', 'io.bfq.weight'],
    { inFile: /300/, warning: /weight_device/ },
  ),
  throttled('ReadBps', 'read_bps'),
  throttled('WriteBps', 'write_bps'),
  throttled('ReadIOps', 'read_iops'),
  throttled('WriteIOps', 'write_iops'),
  {
    field: ['HostConfig.CpuRealtimePeriod', 'HostConfig.CpuRealtimeRuntime'],
    what: 'within what the parent may give away',
    ask: ({ engine }) => {
      const parent = `/sys/fs/cgroup/cpu${engine.daemon.cgroupParent}`;
      if (!hasRealtimeGroups) {
        return {};
      }
      mkdirSync(parent, { recursive: true });
      writeFileSync(`${parent}/cpu.rt_runtime_us`, '1000');
      return { HostConfig: { CpuRealtimePeriod: 1_000_000, CpuRealtimeRuntime: 900 } };
    },
    observe: (look) =>
      hasRealtimeGroups
        ? [look.cgroup('cpu.rt_period_us', 'cpu.max'), look.cgroup('cpu.rt_runtime_us', 'cpu.max')]
        : ['1000000', '900'],
    expected: ['1000000', '900'],
  },
  warned('CpuCount', { CpuCount: 2 }, /CPU count/),
  warned('CpuPercent', { CpuPercent: 50 }, /CPU percent/),
];
