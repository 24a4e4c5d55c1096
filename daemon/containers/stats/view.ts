import type { BlkioEntry, ContainerStats, CpuStats } from '../../../api/types/container-stats.ts';
import type { ContainerSample } from '../../../runtime/cgroups/sample.ts';
import { formatNano, ZERO_TIME } from '../../base/clock.ts';
import type { Reading } from './sampler.ts';

/** The container that the statistics are of. */
export interface StatsSubject {
  id: string;
  name: string;
  cgroupVersion: 1 | 2;
  /** Of the host: what a container without a limit may use. */
  memoryBytes: number;
  /** It has interfaces that are not the host's. */
  ownNetwork: boolean;
}

/** Statistics as dockerd has them; zeroes with a name while the container does not run. Pure. */
export function statsView(
  subject: StatsSubject,
  reading: Reading | undefined,
  previous: Reading | undefined,
): ContainerStats {
  const { id, name } = subject;
  const sample = reading?.sample;
  return {
    read: sample && reading ? formatNano(reading.atNano) : ZERO_TIME,
    preread: sample && previous?.sample ? formatNano(previous.atNano) : ZERO_TIME,
    pids_stats: sample
      ? {
          current: sample.pids.current,
          ...(sample.pids.limit !== undefined && { limit: sample.pids.limit }),
        }
      : {},
    blkio_stats: blkioStats(subject, sample),
    num_procs: 0,
    storage_stats: {},
    cpu_stats: cpuStats(reading),
    precpu_stats: cpuStats(sample && previous),
    memory_stats: sample ? memoryStats(subject, sample) : {},
    os_type: 'linux',
    name: `/${name}`,
    id,
    ...(sample && subject.ownNetwork && networks(sample)),
  };
}

function cpuStats(reading: Reading | undefined): CpuStats {
  const cpu = reading?.sample?.cpu;
  return {
    cpu_usage: {
      total_usage: cpu?.totalNs ?? 0,
      ...(cpu?.perCpuNs && { percpu_usage: cpu.perCpuNs }),
      usage_in_kernelmode: cpu?.kernelNs ?? 0,
      usage_in_usermode: cpu?.userNs ?? 0,
    },
    ...(reading && cpu && { system_cpu_usage: reading.host.totalNs, online_cpus: reading.host.online }),
    throttling_data: {
      periods: cpu?.periods ?? 0,
      throttled_periods: cpu?.throttledPeriods ?? 0,
      throttled_time: cpu?.throttledNs ?? 0,
    },
  };
}

function memoryStats(
  { memoryBytes }: StatsSubject,
  { memory }: ContainerSample,
): ContainerStats['memory_stats'] {
  const { usageBytes, maxUsageBytes, stat, failCount, limitBytes } = memory;
  return {
    usage: usageBytes,
    ...(maxUsageBytes !== undefined && { max_usage: maxUsageBytes }),
    stats: stat,
    ...(failCount > 0 && { failcnt: failCount }),
    limit: Math.min(limitBytes, memoryBytes),
  };
}

function blkioStats(
  { cgroupVersion }: StatsSubject,
  sample: ContainerSample | undefined,
): ContainerStats['blkio_stats'] {
  // Counted by a scheduler that the kernel no longer has; version 2 never had them.
  const uncounted: BlkioEntry[] | null = sample && cgroupVersion === 1 ? [] : null;
  return {
    io_service_bytes_recursive: sample?.block.serviceBytes ?? null,
    io_serviced_recursive: sample && cgroupVersion === 1 ? sample.block.serviced : null,
    io_queue_recursive: uncounted,
    io_service_time_recursive: uncounted,
    io_wait_time_recursive: uncounted,
    io_merged_recursive: uncounted,
    io_time_recursive: uncounted,
    sectors_recursive: uncounted,
  };
}

function networks({ interfaces }: ContainerSample): Pick<ContainerStats, 'networks'> {
  const entries = Object.entries(interfaces).map(([name, counts]) => [
    name,
    {
      rx_bytes: counts.rxBytes,
      rx_packets: counts.rxPackets,
      rx_errors: counts.rxErrors,
      rx_dropped: counts.rxDropped,
      tx_bytes: counts.txBytes,
      tx_packets: counts.txPackets,
      tx_errors: counts.txErrors,
      tx_dropped: counts.txDropped,
    },
  ]);
  return entries.length === 0 ? {} : { networks: Object.fromEntries(entries) };
}
