import { unreachable } from '../../daemon/base/errors.ts';

/** Limits of a running container that are to change; -1 = unlimited. What is absent stays. */
export interface LimitChanges {
  /** `withSwapBytes` is memory and swap together. */
  memory?: { limitBytes: number; withSwapBytes: number };
  memoryReservationBytes?: number;
  /** 2 to 262144, 1024 by default: version 1's scale. */
  cpuShares?: number;
  cpuBandwidth?: { quotaUs: number; periodUs: number };
  realtimePeriodUs?: number;
  realtimeRuntimeUs?: number;
  /** `0-3,8`. */
  cpusetCpus?: string;
  cpusetMems?: string;
  pids?: number;
  /** 10 to 1000. */
  blkioWeight?: number;
  blkioDevices?: BlkioDevice[];
}

/** A rule for one block device. */
export interface BlkioDevice {
  rule: 'weight' | 'readBps' | 'writeBps' | 'readIops' | 'writeIops';
  /** `8:0` */
  device: string;
  /** 10 to 1000 of weights, else bytes or operations a second; 0 = no rule. */
  value: number;
}

/** One control file and what goes into it. */
export interface ControlWrite {
  /** Version 1: the hierarchy that the file is in. */
  controller: 'memory' | 'cpu' | 'cpuset' | 'pids' | 'blkio';
  /** Names of the file, the first that exists; kernels differ. */
  files: readonly [string, ...string[]];
  value: string;
  /** True where a kernel without the file does what is asked anyway. */
  mayLack?: boolean;
  /** Of a file with a line for each device: how the line begins, and what is written where there is none. */
  line?: { key: string; none: string };
}

/**
 * The writes that put limits in force. Pure. Their order does not matter: the kernel refuses some of them while others
 * are still to come (memory above memory with swap), and `applyWrites` finds an order that it takes.
 */
export function limitWrites(version: 1 | 2, changes: LimitChanges): ControlWrite[] {
  switch (version) {
    case 1:
      return version1(changes);
    case 2:
      return version2(changes);
    default:
      return unreachable(version);
  }
}

/** Kernel documentation: admin-guide/cgroup-v1. */
function version1(changes: LimitChanges): ControlWrite[] {
  const { memory, memoryReservationBytes: reservation, cpuBandwidth: bandwidth, pids } = changes;
  return [
    ...(memory
      ? [
          one('memory', 'memory.limit_in_bytes', memory.limitBytes),
          {
            ...one('memory', 'memory.memsw.limit_in_bytes', memory.withSwapBytes),
            mayLack: memory.withSwapBytes === -1,
          },
        ]
      : []),
    ...given(reservation, (value) => one('memory', 'memory.soft_limit_in_bytes', value)),
    ...given(changes.cpuShares, (value) => one('cpu', 'cpu.shares', value)),
    ...(bandwidth
      ? [
          one('cpu', 'cpu.cfs_period_us', bandwidth.periodUs),
          one('cpu', 'cpu.cfs_quota_us', bandwidth.quotaUs),
        ]
      : []),
    ...given(changes.realtimePeriodUs, (value) => one('cpu', 'cpu.rt_period_us', value)),
    ...given(changes.realtimeRuntimeUs, (value) => one('cpu', 'cpu.rt_runtime_us', value)),
    ...cpusets(changes),
    ...given(pids, (value) => one('pids', 'pids.max', orMax(value))),
    ...given(changes.blkioWeight, (value) => ({
      controller: 'blkio' as const,
      files: ['blkio.weight', 'blkio.bfq.weight'] as const,
      value: String(value),
    })),
    ...(changes.blkioDevices ?? []).map(deviceRule1),
  ];
}

/** Kernel documentation: admin-guide/cgroup-v2; the scales are those of runc. */
function version2(changes: LimitChanges): ControlWrite[] {
  const { memory, memoryReservationBytes: reservation, cpuBandwidth: bandwidth, pids } = changes;
  return [
    ...(memory
      ? [
          one('memory', 'memory.max', orMax(memory.limitBytes)),
          {
            ...one('memory', 'memory.swap.max', orMax(swapOf(memory))),
            mayLack: memory.withSwapBytes === -1,
          },
        ]
      : []),
    ...given(reservation, (value) => one('memory', 'memory.low', Math.max(value, 0))),
    ...given(changes.cpuShares, (value) => one('cpu', 'cpu.weight', weightOfShares(value))),
    ...(bandwidth ? [one('cpu', 'cpu.max', `${orMax(bandwidth.quotaUs)} ${bandwidth.periodUs}`)] : []),
    ...cpusets(changes),
    ...given(pids, (value) => one('pids', 'pids.max', orMax(value))),
    ...given(changes.blkioWeight, ioWeight),
    ...(changes.blkioDevices ?? []).map(deviceRule2),
  ];
}

const THROTTLE_FILES = {
  readBps: 'blkio.throttle.read_bps_device',
  writeBps: 'blkio.throttle.write_bps_device',
  readIops: 'blkio.throttle.read_iops_device',
  writeIops: 'blkio.throttle.write_iops_device',
} as const;
const IO_MAX_KEYS = { readBps: 'rbps', writeBps: 'wbps', readIops: 'riops', writeIops: 'wiops' } as const;

function deviceRule1({ rule, device, value }: BlkioDevice): ControlWrite {
  const line = { key: device, none: `${device} 0` };
  return rule === 'weight'
    ? weightRule(['blkio.bfq.weight_device'], device, value)
    : { controller: 'blkio', files: [THROTTLE_FILES[rule]], value: `${device} ${value}`, line };
}

/** Rules of io.max that are not named stay. */
function deviceRule2({ rule, device, value }: BlkioDevice): ControlWrite {
  if (rule === 'weight') {
    return weightRule(['io.bfq.weight'], device, value);
  }
  const key = IO_MAX_KEYS[rule];
  const line = { key: device, none: `${device} rbps=max wbps=max riops=max wiops=max` };
  return { controller: 'blkio', files: ['io.max'], value: `${device} ${key}=${value || 'max'}`, line };
}

function weightRule(files: readonly [string], device: string, value: number): ControlWrite {
  const line = { key: device, none: `${device} default` };
  return { controller: 'blkio', files, value: `${device} ${value || 'default'}`, line };
}

function one(controller: ControlWrite['controller'], file: string, value: string | number): ControlWrite {
  return { controller, files: [file], value: String(value) };
}

function given<T>(value: T | undefined, write: (value: T) => ControlWrite): ControlWrite[] {
  return value === undefined ? [] : [write(value)];
}

function cpusets({ cpusetCpus, cpusetMems }: LimitChanges): ControlWrite[] {
  return [
    ...given(cpusetCpus, (value) => one('cpuset', 'cpuset.cpus', value)),
    ...given(cpusetMems, (value) => one('cpuset', 'cpuset.mems', value)),
  ];
}

function orMax(value: number): string {
  return value < 0 ? 'max' : String(value);
}

function swapOf({ limitBytes, withSwapBytes }: NonNullable<LimitChanges['memory']>): number {
  return withSwapBytes < 0 || limitBytes < 0 ? -1 : withSwapBytes - limitBytes;
}

/** Shares of 2 to 262144 as weights of 1 to 10000. */
export function weightOfShares(shares: number): number {
  return 1 + Math.floor(((Math.min(Math.max(shares, 2), 262_144) - 2) * 9999) / 262_142);
}

/** Weights of 10 to 1000 as weights of 1 to 10000; the BFQ scheduler has kept the old scale. */
function ioWeight(weight: number): ControlWrite {
  return {
    controller: 'blkio',
    files: ['io.weight'],
    value: `default ${1 + Math.floor(((weight - 10) * 9999) / 990)}`,
  };
}
