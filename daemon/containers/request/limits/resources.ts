import type { Resources, ThrottleDevice, WeightDevice } from '../../../../api/types/host-config.ts';
import type { HostFacts } from '../../../../runtime/host/facts.ts';
import { invalidArgument } from '../../../base/errors.ts';
import { checkCpuset } from './cpuset.ts';
import { wholeNumber } from '../refuse.ts';

/** What is limited by control groups, with every default. */
export type ControlledResources = Required<
  Pick<
    Resources,
    | 'CpuShares'
    | 'Memory'
    | 'BlkioWeight'
    | 'BlkioWeightDevice'
    | 'BlkioDeviceReadBps'
    | 'BlkioDeviceWriteBps'
    | 'BlkioDeviceReadIOps'
    | 'BlkioDeviceWriteIOps'
    | 'CpuPeriod'
    | 'CpuQuota'
    | 'CpuRealtimePeriod'
    | 'CpuRealtimeRuntime'
    | 'CpusetCpus'
    | 'CpusetMems'
    | 'MemoryReservation'
    | 'MemorySwap'
    | 'MemorySwappiness'
    | 'NanoCpus'
    | 'OomKillDisable'
    | 'PidsLimit'
    | 'CpuCount'
    | 'CpuPercent'
    | 'IOMaximumIOps'
    | 'IOMaximumBandwidth'
  >
>;

/** Less does not start a shell: the runtime itself needs room. As dockerd. */
const MEMORY_BYTES_MIN = 6 * 1024 * 1024;
const NANO_PER_CPU = 1e9;
/** A hundredth of a CPU: 1 ms in a period of 100 ms, less than which the kernel refuses. */
const NANO_CPUS_MIN = 1e7;
/** kernel/sched/sched.h: MIN_SHARES and MAX_SHARES. */
const CPU_SHARES_MIN = 2;
const CPU_SHARES_MAX = 262_144;
/** kernel/cgroup/pids.c takes less than PIDS_MAX. */
const PIDS_LIMIT_MAX = 4_194_304;

/**
 * Checks limits against each other and against what this machine can enforce. Pure. Limits that it cannot enforce
 * are dropped with dockerd's warning; contradictions throw invalid_argument with dockerd's text.
 */
export function normaliseResources(
  asked: Resources,
  facts: HostFacts,
): { resources: ControlledResources; warnings: string[] } {
  const warnings: string[] = [];
  const memory = normaliseMemory(asked, facts, warnings);
  const cpu = normaliseCpu(asked, facts, warnings);
  const blkio = normaliseBlkio(asked, facts, warnings);
  let pidsLimit = asked.PidsLimit ?? null;
  // 0 and everything below mean unlimited, and are shown as unset.
  if (pidsLimit !== null && wholeNumber('PidsLimit', pidsLimit) <= 0) {
    pidsLimit = null;
  }
  if (pidsLimit !== null && pidsLimit > PIDS_LIMIT_MAX) {
    throw invalidArgument(`PidsLimit cannot be larger than ${PIDS_LIMIT_MAX}: ${pidsLimit}`);
  }
  if (pidsLimit !== null && !facts.cgroup.pidsLimit) {
    warnings.push(discarded('PIDs limit capabilities or the cgroup is not mounted', 'PIDs limit'));
    pidsLimit = null;
  }
  return {
    resources: { ...memory, ...cpu, ...blkio, ...windowsOnly(asked, warnings), PidsLimit: pidsLimit },
    warnings,
  };
}

function discarded(capability: string, what: string): string {
  return `Your kernel does not support ${capability}. ${what} discarded.`;
}

type MemoryKeys = 'Memory' | 'MemorySwap' | 'MemoryReservation' | 'MemorySwappiness' | 'OomKillDisable';

function normaliseMemory(
  asked: Resources,
  { cgroup }: HostFacts,
  warnings: string[],
): Pick<ControlledResources, MemoryKeys> {
  let memory = wholeNumber('Memory', asked.Memory);
  let swap = wholeNumber('MemorySwap', asked.MemorySwap);
  let reservation = wholeNumber('MemoryReservation', asked.MemoryReservation);
  if (memory !== 0 && memory < MEMORY_BYTES_MIN) {
    throw invalidArgument('Minimum memory limit allowed is 6MB');
  }
  if (swap < -1) {
    throw invalidArgument(`MemorySwap cannot be negative, but for -1, which is unlimited: ${swap}`);
  }
  if (memory > 0 && !cgroup.memoryLimit) {
    warnings.push(discarded('memory limit capabilities or the cgroup is not mounted', 'Limitation'));
    memory = 0;
    swap = -1;
  }
  if (memory > 0 && swap !== -1 && !cgroup.swapLimit) {
    warnings.push(
      'Your kernel does not support swap limit capabilities or the cgroup is not mounted. Memory limited without swap.',
    );
    swap = -1;
  }
  if (memory > 0 && swap > 0 && swap < memory) {
    throw invalidArgument('Minimum memoryswap limit should be larger than memory limit, see usage');
  }
  if (memory === 0 && swap > 0) {
    throw invalidArgument('You should always set the Memory limit when using Memoryswap limit, see usage');
  }
  if (reservation !== 0 && !cgroup.memoryReservation) {
    warnings.push(discarded('memory soft limit capabilities or the cgroup is not mounted', 'Limitation'));
    reservation = 0;
  }
  if (reservation !== 0 && reservation < MEMORY_BYTES_MIN) {
    throw invalidArgument('Minimum memory reservation allowed is 6MB');
  }
  if (memory > 0 && memory < reservation) {
    throw invalidArgument('Minimum memory limit can not be less than memory reservation limit, see usage');
  }
  const kernelMemory = wholeNumber('KernelMemory', asked.KernelMemory);
  if (kernelMemory !== 0 && kernelMemory < MEMORY_BYTES_MIN) {
    throw invalidArgument('Minimum kernel memory limit allowed is 6MB');
  }
  if (kernelMemory !== 0) {
    // The kernel dropped it (memory.kmem.limit_in_bytes answers EOPNOTSUPP since 5.16).
    warnings.push(discarded('kernel memory limit capabilities or the cgroup is not mounted', 'Limitation'));
  }
  if (wholeNumber('KernelMemoryTCP', asked.KernelMemoryTCP) !== 0) {
    warnings.push(
      discarded('kernel memory TCP limit capabilities or the cgroup is not mounted', 'Limitation'),
    );
  }
  return {
    Memory: memory,
    MemorySwap: memory > 0 && swap === 0 ? memory * 2 : swap,
    MemoryReservation: reservation,
    MemorySwappiness: normaliseSwappiness(asked, cgroup.memorySwappiness, warnings),
    OomKillDisable: normaliseOomKill(asked, cgroup.oomKillDisable, memory, warnings),
  };
}

function normaliseSwappiness(asked: Resources, isSupported: boolean, warnings: string[]): number | null {
  const swappiness = asked.MemorySwappiness ?? null;
  // Old clients send -1 for "not set".
  if (swappiness === null || swappiness === -1) {
    return null;
  }
  if (!isSupported) {
    warnings.push(
      discarded('memory swappiness capabilities or the cgroup is not mounted', 'Memory swappiness'),
    );
    return null;
  }
  if (wholeNumber('MemorySwappiness', swappiness) < 0 || swappiness > 100) {
    throw invalidArgument(`Invalid value: ${swappiness}, valid memory swappiness range is 0-100`);
  }
  return swappiness;
}

function normaliseOomKill(
  asked: Resources,
  isSupported: boolean,
  memory: number,
  warnings: string[],
): boolean | null {
  const disable = asked.OomKillDisable ?? false;
  if (!isSupported) {
    if (disable) {
      warnings.push('Your kernel does not support OomKillDisable. OomKillDisable discarded.');
    }
    return null;
  }
  if (disable && memory === 0) {
    warnings.push(
      'OOM killer is disabled for the container, but no memory limit is set, this can result in the system running ' +
        'out of resources.',
    );
  }
  return disable;
}

type CpuKeys =
  | 'CpuShares'
  | 'CpuPeriod'
  | 'CpuQuota'
  | 'NanoCpus'
  | 'CpuRealtimePeriod'
  | 'CpuRealtimeRuntime'
  | 'CpusetCpus'
  | 'CpusetMems';

function normaliseCpu(
  asked: Resources,
  { cgroup, cpus }: HostFacts,
  warnings: string[],
): Pick<ControlledResources, CpuKeys> {
  let shares = wholeNumber('CpuShares', asked.CpuShares);
  let period = wholeNumber('CpuPeriod', asked.CpuPeriod);
  let quota = wholeNumber('CpuQuota', asked.CpuQuota);
  const nanoCpus = wholeNumber('NanoCpus', asked.NanoCpus);
  const contradiction = cpuContradiction({ shares, period, quota, nanoCpus, cpus, hasCfs: cgroup.cpuCfs });
  if (contradiction !== undefined) {
    throw invalidArgument(contradiction);
  }
  if (shares > 0 && !cgroup.cpuShares) {
    warnings.push(discarded('CPU shares or the cgroup is not mounted', 'Shares'));
    shares = 0;
  }
  if ((period !== 0 || quota !== 0) && !cgroup.cpuCfs) {
    warnings.push(discarded('CPU CFS scheduler', 'CPU period/quota'));
    period = 0;
    quota = 0;
  }
  if (period !== 0 && (period < 1000 || period > 1_000_000)) {
    throw invalidArgument(
      'CPU cfs period can not be less than 1ms (i.e. 1000) or larger than 1s (i.e. 1000000)',
    );
  }
  if (quota > 0 && quota < 1000) {
    throw invalidArgument('CPU cfs quota can not be less than 1ms (i.e. 1000)');
  }
  return {
    CpuShares: shares,
    CpuPeriod: period,
    CpuQuota: quota,
    NanoCpus: nanoCpus,
    ...normaliseRealtime(asked, cgroup.cpuRealtime),
    ...normaliseCpuset(asked, cgroup, warnings),
  };
}

function cpuContradiction(cpu: {
  shares: number;
  period: number;
  quota: number;
  nanoCpus: number;
  cpus: number;
  hasCfs: boolean;
}): string | undefined {
  if (cpu.shares < 0) {
    return `invalid CPU shares (${cpu.shares}): value must be a positive integer`;
  }
  if (cpu.shares !== 0 && (cpu.shares < CPU_SHARES_MIN || cpu.shares > CPU_SHARES_MAX)) {
    return `invalid CPU shares (${cpu.shares}): range is from ${CPU_SHARES_MIN} to ${CPU_SHARES_MAX}`;
  }
  if (cpu.nanoCpus > 0 && cpu.period > 0) {
    return 'Conflicting options: Nano CPUs and CPU Period cannot both be set';
  }
  if (cpu.nanoCpus > 0 && cpu.quota > 0) {
    return 'Conflicting options: Nano CPUs and CPU Quota cannot both be set';
  }
  if (cpu.nanoCpus > 0 && !cpu.hasCfs) {
    return 'NanoCPUs can not be set, as your kernel does not support CPU CFS scheduler or the cgroup is not mounted';
  }
  if (cpu.nanoCpus !== 0 && (cpu.nanoCpus < NANO_CPUS_MIN || cpu.nanoCpus > cpu.cpus * NANO_PER_CPU)) {
    return `range of CPUs is from 0.01 to ${cpu.cpus}.00, as there are only ${cpu.cpus} CPUs available`;
  }
  return undefined;
}

function normaliseRealtime(
  asked: Resources,
  isSupported: boolean,
): { CpuRealtimePeriod: number; CpuRealtimeRuntime: number } {
  const period = wholeNumber('CpuRealtimePeriod', asked.CpuRealtimePeriod);
  const runtime = wholeNumber('CpuRealtimeRuntime', asked.CpuRealtimeRuntime);
  if ((period !== 0 || runtime !== 0) && !isSupported) {
    throw invalidArgument('kernel does not support CPU real-time scheduler');
  }
  if (period < 0 || runtime < 0 || (period !== 0 && runtime > period)) {
    throw invalidArgument('cpu real-time runtime cannot be higher than cpu real-time period');
  }
  return { CpuRealtimePeriod: period, CpuRealtimeRuntime: runtime };
}

function normaliseCpuset(
  asked: Resources,
  cgroup: HostFacts['cgroup'],
  warnings: string[],
): { CpusetCpus: string; CpusetMems: string } {
  const { CpusetCpus: cpus = '', CpusetMems: mems = '' } = asked;
  if ((cpus !== '' || mems !== '') && !cgroup.cpuset) {
    warnings.push(discarded('cpuset or the cgroup is not mounted', 'Cpuset'));
    return { CpusetCpus: '', CpusetMems: '' };
  }
  checkCpuset('CPUs', cpus, cgroup.cpusetCpus);
  checkCpuset('memory nodes', mems, cgroup.cpusetMems);
  return { CpusetCpus: cpus, CpusetMems: mems };
}

type BlkioKeys = Extract<keyof ControlledResources, `Blkio${string}`>;

function normaliseBlkio(
  asked: Resources,
  { cgroup }: HostFacts,
  warnings: string[],
): Pick<ControlledResources, BlkioKeys> {
  let weight = wholeNumber('BlkioWeight', asked.BlkioWeight);
  if (weight !== 0 && (weight < 10 || weight > 1000)) {
    throw invalidArgument('Range of blkio weight is from 10 to 1000');
  }
  if (weight !== 0 && !cgroup.blkioWeight) {
    warnings.push(discarded('Block I/O weight or the cgroup is not mounted', 'Weight'));
    weight = 0;
  }
  const list = <T extends ThrottleDevice | WeightDevice>(
    field: BlkioKeys,
    devices: T[] | null | undefined,
    isSupported: boolean,
    [capability, what]: readonly [string, string],
  ): T[] | null => {
    const checked = devices?.map((device) => checkBlockDevice(field, device)) ?? null;
    if (checked?.length && !isSupported) {
      warnings.push(discarded(`${capability} or the cgroup is not mounted`, what));
      return [];
    }
    return checked;
  };
  return {
    BlkioWeight: weight,
    BlkioWeightDevice: list('BlkioWeightDevice', asked.BlkioWeightDevice, cgroup.blkioWeightDevice, [
      'Block I/O weight_device',
      'Weight-device',
    ]),
    BlkioDeviceReadBps: list('BlkioDeviceReadBps', asked.BlkioDeviceReadBps, cgroup.blkioReadBps, [
      'BPS Block I/O read limit',
      'Block I/O BPS read limit',
    ]),
    BlkioDeviceWriteBps: list('BlkioDeviceWriteBps', asked.BlkioDeviceWriteBps, cgroup.blkioWriteBps, [
      'BPS Block I/O write limit',
      'Block I/O BPS write limit',
    ]),
    BlkioDeviceReadIOps: list('BlkioDeviceReadIOps', asked.BlkioDeviceReadIOps, cgroup.blkioReadIops, [
      'IOPS Block read limit',
      'Block I/O IOPS read limit',
    ]),
    BlkioDeviceWriteIOps: list('BlkioDeviceWriteIOps', asked.BlkioDeviceWriteIOps, cgroup.blkioWriteIops, [
      'IOPS Block write limit',
      'Block I/O IOPS write limit',
    ]),
  };
}

function checkBlockDevice<T extends ThrottleDevice | WeightDevice>(field: string, device: T): T {
  // The schema of the API lets any part be left out.
  const path: string | undefined = device.Path;
  if (!path?.startsWith('/')) {
    throw invalidArgument(`${field}: bad device path: ${path || 'none is given'}`);
  }
  if ('Weight' in device && (wholeNumber(field, device.Weight) < 10 || device.Weight > 1000)) {
    throw invalidArgument(`${field}: range of weight is from 10 to 1000: ${device.Weight}`);
  }
  if ('Rate' in device && wholeNumber(field, device.Rate) < 0) {
    throw invalidArgument(`${field}: invalid rate for device: ${device.Path}:${device.Rate}`);
  }
  return device;
}

type WindowsKeys = 'CpuCount' | 'CpuPercent' | 'IOMaximumIOps' | 'IOMaximumBandwidth';

/** Fields of Windows daemons: shares of a CPU are dropped with a warning, promises about disks refused. As dockerd. */
function windowsOnly(asked: Resources, warnings: string[]): Pick<ControlledResources, WindowsKeys> {
  if (wholeNumber('CpuPercent', asked.CpuPercent) !== 0) {
    warnings.push('linux does not support CPU percent. Percent discarded.');
  }
  if (wholeNumber('CpuCount', asked.CpuCount) !== 0) {
    warnings.push('linux does not support CPU count. Count discarded.');
  }
  if (wholeNumber('IOMaximumBandwidth', asked.IOMaximumBandwidth) !== 0) {
    throw invalidArgument('invalid option: QoS maximum bandwidth configuration is not supported on linux');
  }
  if (wholeNumber('IOMaximumIOps', asked.IOMaximumIOps) !== 0) {
    throw invalidArgument('invalid option: QoS maximum IOPs configuration is not supported on linux');
  }
  return { CpuCount: 0, CpuPercent: 0, IOMaximumIOps: 0, IOMaximumBandwidth: 0 };
}
