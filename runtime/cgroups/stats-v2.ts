import type { BlockCount, ContainerSample } from './sample.ts';
import { keyedNumbers, numberOrMax } from './sample.ts';

const NS_PER_US = 1000;

/** Version 2 (kernel documentation: admin-guide/cgroup-v2). Pure but for its reader. Undefined without a cgroup. */
export function readVersion2(
  read: (file: string) => string | undefined,
): Omit<ContainerSample, 'interfaces'> | undefined {
  const cpuText = read('cpu.stat');
  if (cpuText === undefined) {
    return undefined;
  }
  const cpu = keyedNumbers(cpuText);
  const pidsLimit = numberOrMax(read('pids.max'));
  return {
    cpu: {
      totalNs: (cpu['usage_usec'] ?? 0) * NS_PER_US,
      kernelNs: (cpu['system_usec'] ?? 0) * NS_PER_US,
      userNs: (cpu['user_usec'] ?? 0) * NS_PER_US,
      perCpuNs: undefined,
      periods: cpu['nr_periods'] ?? 0,
      throttledPeriods: cpu['nr_throttled'] ?? 0,
      throttledNs: (cpu['throttled_usec'] ?? 0) * NS_PER_US,
    },
    memory: {
      usageBytes: Number(read('memory.current') ?? 0),
      maxUsageBytes: undefined,
      failCount: keyedNumbers(read('memory.events') ?? '')['oom'] ?? 0,
      limitBytes: numberOrMax(read('memory.max')),
      stat: keyedNumbers(read('memory.stat') ?? ''),
    },
    pids: {
      current: Number(read('pids.current') ?? 0),
      limit: Number.isFinite(pidsLimit) ? pidsLimit : undefined,
    },
    block: blockOf(read('io.stat') ?? ''),
  };
}

/** Lines of `8:0 rbytes=1 wbytes=2 rios=3 wios=4 ...`. */
function blockOf(text: string): ContainerSample['block'] {
  const serviceBytes: BlockCount[] = [];
  const serviced: BlockCount[] = [];
  for (const [, major, minor, rest = ''] of text.matchAll(/^(\d+):(\d+) (.*)$/gm)) {
    const device = { major: Number(major), minor: Number(minor) };
    const of = (key: string): number => Number(new RegExp(`\\b${key}=(\\d+)`).exec(rest)?.[1] ?? 0);
    serviceBytes.push({ ...device, op: 'read', value: of('rbytes') });
    serviceBytes.push({ ...device, op: 'write', value: of('wbytes') });
    serviced.push({ ...device, op: 'read', value: of('rios') });
    serviced.push({ ...device, op: 'write', value: of('wios') });
  }
  return { serviceBytes, serviced };
}
