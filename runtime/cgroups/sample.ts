/** What a container has used so far, the same from both versions of cgroups. Counters since its start. */
export interface ContainerSample {
  cpu: {
    totalNs: number;
    kernelNs: number;
    userNs: number;
    /** Version 2 does not count by processor. */
    perCpuNs: number[] | undefined;
    periods: number;
    throttledPeriods: number;
    throttledNs: number;
  };
  memory: {
    usageBytes: number;
    /** Undefined on version 2. */
    maxUsageBytes: number | undefined;
    /** Times the limit was met (version 1), or could not be kept (version 2, `oom`). */
    failCount: number;
    /** Infinity = none. */
    limitBytes: number;
    /** `memory.stat` as the kernel has it. */
    stat: Record<string, number>;
  };
  /** `limit` is undefined when there is none. */
  pids: { current: number; limit: number | undefined };
  block: { serviceBytes: BlockCount[]; serviced: BlockCount[] };
  /** By name; of the namespace that the container's processes are in, without the loopback interface. */
  interfaces: Record<string, InterfaceCounters>;
}

export interface BlockCount {
  major: number;
  minor: number;
  /** `Read`, `Write`, ... as the kernel spells it. */
  op: string;
  value: number;
}

export interface InterfaceCounters {
  rxBytes: number;
  rxPackets: number;
  rxErrors: number;
  rxDropped: number;
  txBytes: number;
  txPackets: number;
  txErrors: number;
  txDropped: number;
}

/** Lines of `key value`, as most files of the kernel are. Pure. */
export function keyedNumbers(text: string): Record<string, number> {
  const numbers: Record<string, number> = {};
  for (const line of text.split('\n')) {
    const blank = line.indexOf(' ');
    if (blank > 0) {
      numbers[line.slice(0, blank)] = Number(line.slice(blank + 1));
    }
  }
  return numbers;
}

/** A number, or `max` for none. Pure. */
export function numberOrMax(text: string | undefined): number {
  const word = text?.trim() ?? '';
  return word === 'max' || word === '' ? Number.POSITIVE_INFINITY : Number(word);
}

/** /proc/<pid>/net/dev (proc(5)). Pure. */
export function parseInterfaces(text: string): Record<string, InterfaceCounters> {
  const interfaces: Record<string, InterfaceCounters> = {};
  for (const line of text.split('\n').slice(2)) {
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(colon, 0)).trim();
    if (name === '' || name === 'lo') {
      continue;
    }
    const counts = line
      .slice(colon + 1)
      .trim()
      .split(/\s+/)
      .map(Number);
    const at = (index: number): number => counts[index] ?? 0;
    interfaces[name] = {
      rxBytes: at(0),
      rxPackets: at(1),
      rxErrors: at(2),
      rxDropped: at(3),
      txBytes: at(8),
      txPackets: at(9),
      txErrors: at(10),
      txDropped: at(11),
    };
  }
  return interfaces;
}

/** Ticks are of USER_HZ, which is 100 on every architecture that Linux still has. */
const NS_PER_TICK = 10_000_000;

/** All processors of the host together. */
export interface HostCpu {
  /** Nanoseconds that they have run or idled since boot. */
  totalNs: number;
  online: number;
}

/** The processors' part of /proc/stat. Pure. */
export function parseHostCpu(text: string): HostCpu {
  // user, nice, system, idle, iowait, irq, softirq: what runs in guests is counted in user already.
  const ticks = /^cpu +(.*)$/m.exec(text)?.[1]?.split(' ').slice(0, 7).map(Number) ?? [];
  return {
    totalNs: ticks.reduce((sum, count) => sum + count, 0) * NS_PER_TICK,
    online: text.match(/^cpu\d+ /gm)?.length ?? 0,
  };
}
