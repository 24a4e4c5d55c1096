import type { BlockCount, ContainerSample } from './sample.ts';
import { keyedNumbers, numberOrMax } from './sample.ts';

/** Text of a control file in one hierarchy; undefined when it is not there. */
export type ReadControl = (controller: string, file: string) => string | undefined;

/** `cpuacct.stat` counts in ticks of USER_HZ, which is 100 on every architecture that Linux still has. */
const NS_PER_TICK = 10_000_000;

/** Version 1 (kernel documentation: admin-guide/cgroup-v1). Pure but for its reader. Undefined without a cgroup. */
export function readVersion1(read: ReadControl): Omit<ContainerSample, 'interfaces'> | undefined {
  const usage = read('memory', 'memory.usage_in_bytes') ?? read('cpuacct', 'cpuacct.usage');
  if (usage === undefined) {
    return undefined;
  }
  return { cpu: cpuOf(read), memory: memoryOf(read), pids: pidsOf(read), block: blockOf(read) };
}

function cpuOf(read: ReadControl): ContainerSample['cpu'] {
  const ticks = keyedNumbers(read('cpuacct', 'cpuacct.stat') ?? '');
  const throttling = keyedNumbers(read('cpu', 'cpu.stat') ?? '');
  const perCpu = read('cpuacct', 'cpuacct.usage_percpu')?.trim();
  return {
    totalNs: Number(read('cpuacct', 'cpuacct.usage') ?? 0),
    kernelNs: (ticks['system'] ?? 0) * NS_PER_TICK,
    userNs: (ticks['user'] ?? 0) * NS_PER_TICK,
    perCpuNs: perCpu ? perCpu.split(' ').map(Number) : undefined,
    periods: throttling['nr_periods'] ?? 0,
    throttledPeriods: throttling['nr_throttled'] ?? 0,
    throttledNs: throttling['throttled_time'] ?? 0,
  };
}

function memoryOf(read: ReadControl): ContainerSample['memory'] {
  const number = (file: string): number => Number(read('memory', file) ?? 0);
  return {
    usageBytes: number('memory.usage_in_bytes'),
    maxUsageBytes: number('memory.max_usage_in_bytes'),
    failCount: number('memory.failcnt'),
    limitBytes: number('memory.limit_in_bytes') || Number.POSITIVE_INFINITY,
    stat: keyedNumbers(read('memory', 'memory.stat') ?? ''),
  };
}

function pidsOf(read: ReadControl): ContainerSample['pids'] {
  const limit = numberOrMax(read('pids', 'pids.max'));
  return {
    current: Number(read('pids', 'pids.current') ?? 0),
    limit: Number.isFinite(limit) ? limit : undefined,
  };
}

/** The scheduler that counted for single cgroups is gone (CFQ); the throttling layer counts everything. */
function blockOf(read: ReadControl): ContainerSample['block'] {
  const counts = (name: string): BlockCount[] =>
    blockCounts(
      read('blkio', `blkio.bfq.${name}`)?.trim() || (read('blkio', `blkio.throttle.${name}`) ?? ''),
    );
  return {
    serviceBytes: counts('io_service_bytes_recursive'),
    serviced: counts('io_serviced_recursive'),
  };
}

/** Lines of `8:0 Read 4096`. The last one, a sum without a device, is left out. */
function blockCounts(text: string): BlockCount[] {
  return [...text.matchAll(/^(\d+):(\d+) (\w+) (\d+)$/gm)].map(([, major, minor, op = '', value]) => ({
    major: Number(major),
    minor: Number(minor),
    op,
    value: Number(value),
  }));
}
