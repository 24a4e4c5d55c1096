import type { ThrottleDevice, WeightDevice } from '../../../api/types/host-config.ts';
import type { OciDeviceRule, OciResources } from '../../../runtime/runc/spec-types.ts';
import { invariant } from '../../base/errors.ts';
import { DEVICE_RULE } from '../request/limits/devices.ts';
import type { NormalHostConfig } from '../request/container-spec.ts';
import type { BlkioDevice, LimitChanges } from '../../../runtime/cgroups/limits.ts';

export interface DeviceNumber {
  major: number;
  minor: number;
}

/** 100 ms, the kernel's own default; NanoCpus is a share of it. */
const CFS_PERIOD_US = 100_000;
/** In an update. */
const UNLIMITED = -1;
/** The kernel's default for `cpu.shares` of a cgroup. */
const SHARES_DEFAULT = 1024;

/** What a container may do with devices without asking: none but zero, null, urandom, random, tty and console. */
const DEFAULT_DEVICE_RULES: readonly OciDeviceRule[] = [
  { allow: false, access: 'rwm' },
  { allow: true, type: 'c', major: 1, minor: 5, access: 'rwm' },
  { allow: true, type: 'c', major: 1, minor: 3, access: 'rwm' },
  { allow: true, type: 'c', major: 1, minor: 9, access: 'rwm' },
  { allow: true, type: 'c', major: 1, minor: 8, access: 'rwm' },
  { allow: true, type: 'c', major: 5, minor: 0, access: 'rwm' },
  { allow: true, type: 'c', major: 5, minor: 1, access: 'rwm' },
  // FUSE: runc once allowed it by itself.
  { allow: false, type: 'c', major: 10, minor: 229, access: 'rwm' },
];

/** Limits of a container. Pure. `blockDevices` has the number of every path named in a Blkio field. */
export function translateResources(
  host: NormalHostConfig,
  mapped: readonly OciDeviceRule[],
  blockDevices: ReadonlyMap<string, DeviceNumber>,
): OciResources {
  const memory = memoryOf(host);
  const cpu = cpuOf(host);
  const blockIO = blockIoOf(host, blockDevices);
  return {
    devices: host.Privileged
      ? [{ allow: true, access: 'rwm' }]
      : [...DEFAULT_DEVICE_RULES, ...mapped, ...(host.DeviceCgroupRules ?? []).map(deviceRule)],
    ...(isNotEmpty(memory) && { memory }),
    ...(isNotEmpty(cpu) && { cpu }),
    ...(host.PidsLimit !== null && { pids: { limit: host.PidsLimit } }),
    ...(isNotEmpty(blockIO) && { blockIO }),
  };
}

function isNotEmpty(value: object): boolean {
  return Object.keys(value).length > 0;
}

function memoryOf(host: NormalHostConfig): NonNullable<OciResources['memory']> {
  return {
    ...(host.Memory > 0 && { limit: host.Memory }),
    ...(host.MemoryReservation > 0 && { reservation: host.MemoryReservation }),
    // Unlimited (-1) is what a group starts with.
    ...(host.MemorySwap > 0 && { swap: host.MemorySwap }),
    ...(host.MemorySwappiness !== null && { swappiness: host.MemorySwappiness }),
    ...(host.OomKillDisable && { disableOOMKiller: true }),
  };
}

function cpuOf(host: NormalHostConfig): NonNullable<OciResources['cpu']> {
  return {
    ...(host.CpuShares > 0 && { shares: host.CpuShares }),
    ...cpuBandwidth(host),
    ...(host.CpuRealtimeRuntime !== 0 && { realtimeRuntime: host.CpuRealtimeRuntime }),
    ...(host.CpuRealtimePeriod !== 0 && { realtimePeriod: host.CpuRealtimePeriod }),
    ...(host.CpusetCpus !== '' && { cpus: host.CpusetCpus }),
    ...(host.CpusetMems !== '' && { mems: host.CpusetMems }),
  };
}

/** Quota per period in microseconds, as far as they are asked for. */
function cpuBandwidth(host: NormalHostConfig): { quota?: number; period?: number } {
  const nano = host.NanoCpus > 0;
  const quota = nano ? Math.floor((host.NanoCpus * CFS_PERIOD_US) / 1e9) : host.CpuQuota;
  const period = nano ? CFS_PERIOD_US : host.CpuPeriod;
  return { ...(quota !== 0 && { quota }), ...(period !== 0 && { period }) };
}

function blockIoOf(
  host: NormalHostConfig,
  blockDevices: ReadonlyMap<string, DeviceNumber>,
): NonNullable<OciResources['blockIO']> {
  const numberOf = (path: string): DeviceNumber => {
    const number = blockDevices.get(path);
    invariant(number !== undefined, `no device number for ${path}`);
    return number;
  };
  const rates = (devices: ThrottleDevice[] | null): (DeviceNumber & { rate: number })[] | undefined =>
    devices?.length ? devices.map(({ Path, Rate }) => ({ ...numberOf(Path), rate: Rate })) : undefined;
  const weights = host.BlkioWeightDevice?.map(({ Path, Weight }) => ({ ...numberOf(Path), weight: Weight }));
  const [readBps, writeBps] = [rates(host.BlkioDeviceReadBps), rates(host.BlkioDeviceWriteBps)];
  const [readIops, writeIops] = [rates(host.BlkioDeviceReadIOps), rates(host.BlkioDeviceWriteIOps)];
  return {
    ...(host.BlkioWeight > 0 && { weight: host.BlkioWeight }),
    ...(weights?.length && { weightDevice: weights }),
    ...(readBps && { throttleReadBpsDevice: readBps }),
    ...(writeBps && { throttleWriteBpsDevice: writeBps }),
    ...(readIops && { throttleReadIOPSDevice: readIops }),
    ...(writeIops && { throttleWriteIOPSDevice: writeIops }),
  };
}

/** checkDevices has let the text through. */
function deviceRule(text: string): OciDeviceRule {
  const [, type, major = '*', minor = '*', access = 'rwm'] = DEVICE_RULE.exec(text) ?? [];
  return {
    allow: true,
    type: type === 'b' || type === 'c' ? type : 'a',
    // runc reads -1 as "every number".
    major: major === '*' ? -1 : Number(major),
    minor: minor === '*' ? -1 : Number(minor),
    access,
  };
}

/** The lists of a rule for each block device, and what the kernel calls the rule. */
const DEVICE_RULES = [
  ['weight', 'BlkioWeightDevice'],
  ['readBps', 'BlkioDeviceReadBps'],
  ['writeBps', 'BlkioDeviceWriteBps'],
  ['readIops', 'BlkioDeviceReadIOps'],
  ['writeIops', 'BlkioDeviceWriteIOps'],
] as const;

/** Devices that are no longer named lose their rule. One that is gone has none. */
function deviceChanges(
  before: NormalHostConfig,
  after: NormalHostConfig,
  numbers: ReadonlyMap<string, DeviceNumber>,
): BlkioDevice[] {
  return DEVICE_RULES.flatMap(([rule, field]) => {
    const [old, wanted] = [before[field], after[field]].map((list) => deviceValues(list, numbers));
    const changed = [...(wanted ?? [])].filter(([device, value]) => old?.get(device) !== value);
    const gone = [...(old ?? [])].filter(([device]) => wanted?.has(device) === false);
    return [
      ...changed.map(([device, value]) => ({ rule, device, value })),
      ...gone.map(([device]) => ({ rule, device, value: 0 })),
    ];
  });
}

function deviceValues(
  list: readonly (ThrottleDevice | WeightDevice)[] | null,
  numbers: ReadonlyMap<string, DeviceNumber>,
): Map<string, number> {
  const values = new Map<string, number>();
  for (const device of list ?? []) {
    const number = numbers.get(device.Path);
    if (number !== undefined) {
      values.set(`${number.major}:${number.minor}`, 'Rate' in device ? device.Rate : device.Weight);
    }
  }
  return values;
}

/**
 * What an update changes of a running container's limits, in the kernel's terms. Pure. What is not to change is left
 * out: a value that the administrator has written by hand is not overwritten. `blockDevices` has the numbers of the
 * paths named in Blkio fields, as far as they are there.
 */
export function limitChanges(
  before: NormalHostConfig,
  after: NormalHostConfig,
  blockDevices: ReadonlyMap<string, DeviceNumber>,
): LimitChanges {
  const differs = (...fields: (keyof NormalHostConfig)[]): boolean =>
    fields.some((field) => before[field] !== after[field]);
  const { quota = UNLIMITED, period = CFS_PERIOD_US } = cpuBandwidth(after);
  const blkioDevices = deviceChanges(before, after, blockDevices);
  return {
    ...(differs('Memory', 'MemorySwap') && {
      memory: { limitBytes: after.Memory || UNLIMITED, withSwapBytes: after.MemorySwap || UNLIMITED },
    }),
    ...(differs('MemoryReservation') && { memoryReservationBytes: after.MemoryReservation || UNLIMITED }),
    ...(differs('CpuShares') && { cpuShares: after.CpuShares || SHARES_DEFAULT }),
    ...(differs('NanoCpus', 'CpuQuota', 'CpuPeriod') && {
      cpuBandwidth: { quotaUs: quota, periodUs: period },
    }),
    ...(differs('CpuRealtimePeriod') && { realtimePeriodUs: after.CpuRealtimePeriod }),
    ...(differs('CpuRealtimeRuntime') && { realtimeRuntimeUs: after.CpuRealtimeRuntime }),
    ...(differs('CpusetCpus') && { cpusetCpus: after.CpusetCpus }),
    ...(differs('CpusetMems') && { cpusetMems: after.CpusetMems }),
    ...(differs('PidsLimit') && { pids: after.PidsLimit ?? UNLIMITED }),
    ...(differs('BlkioWeight') && { blkioWeight: after.BlkioWeight }),
    ...(blkioDevices.length > 0 && { blkioDevices }),
  };
}
