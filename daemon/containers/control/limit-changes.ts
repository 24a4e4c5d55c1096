import type { LimitChanges } from '../../../runtime/cgroups/limits.ts';
import { CFS_PERIOD_US, cpuBandwidth } from '../oci/resources.ts';
import type { NormalHostConfig } from '../request/host-config.ts';

const UNLIMITED = -1;
/** What the kernel gives a cgroup that nobody asked more or less for. */
const SHARES_DEFAULT = 1024;

/**
 * What an update changes of a running container's limits, in the kernel's terms. Pure. What is not to change is left
 * out: a value that someone has written by hand is not ours to overwrite.
 */
export function limitChanges(before: NormalHostConfig, after: NormalHostConfig): LimitChanges {
  const differs = (...fields: (keyof NormalHostConfig)[]): boolean =>
    fields.some((field) => before[field] !== after[field]);
  const { quota = UNLIMITED, period = CFS_PERIOD_US } = cpuBandwidth(after);
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
  };
}
