import type { CgroupDriver } from '../cgroups/detect.ts';
import type { HostSource } from './source.ts';

/** Which limits the control groups of this machine can enforce. */
export interface CgroupFacts {
  version: 1 | 2;
  driver: CgroupDriver;
  /** v1: controller -> mount point. v2: `unified` -> mount point. */
  mounts: Record<string, string>;
  memoryLimit: boolean;
  swapLimit: boolean;
  memoryReservation: boolean;
  memorySwappiness: boolean;
  oomKillDisable: boolean;
  cpuShares: boolean;
  cpuCfs: boolean;
  cpuRealtime: boolean;
  cpuset: boolean;
  /** Lists (`0-3,8`) of CPUs and memory nodes that containers may use. */
  cpusetCpus: string;
  cpusetMems: string;
  pidsLimit: boolean;
  blkioWeight: boolean;
  blkioWeightDevice: boolean;
  blkioReadBps: boolean;
  blkioWriteBps: boolean;
  blkioReadIops: boolean;
  blkioWriteIops: boolean;
}

const UNIFIED = '/sys/fs/cgroup';
const V1_CONTROLLERS = new Set(['blkio', 'cpu', 'cpuacct', 'cpuset', 'devices', 'freezer', 'memory', 'pids']);

/** Pure but for its source. Version 2 means unified only: a hybrid machine counts as version 1, as runc sees it. */
export function readCgroupFacts(source: HostSource, driver: CgroupDriver): CgroupFacts {
  const unified = source.read(`${UNIFIED}/cgroup.controllers`);
  return unified === undefined ? readV1(source, driver) : readV2(source, driver, unified.trim().split(' '));
}

function readV1(source: HostSource, driver: CgroupDriver): CgroupFacts {
  const mounts = v1Mounts(source.read('/proc/self/mountinfo') ?? '');
  const has = (controller: string, file: string): boolean =>
    controller in mounts && source.exists(`${mounts[controller]}/${file}`);
  const list = (file: string): string => source.read(`${mounts['cpuset'] ?? ''}/${file}`)?.trim() ?? '';
  return {
    version: 1,
    driver,
    mounts,
    memoryLimit: 'memory' in mounts,
    swapLimit: has('memory', 'memory.memsw.limit_in_bytes'),
    memoryReservation: has('memory', 'memory.soft_limit_in_bytes'),
    memorySwappiness: has('memory', 'memory.swappiness'),
    oomKillDisable: has('memory', 'memory.oom_control'),
    cpuShares: has('cpu', 'cpu.shares'),
    cpuCfs: has('cpu', 'cpu.cfs_quota_us'),
    cpuRealtime: has('cpu', 'cpu.rt_period_us'),
    cpuset: 'cpuset' in mounts,
    cpusetCpus: list('cpuset.cpus'),
    cpusetMems: list('cpuset.mems'),
    pidsLimit: 'pids' in mounts,
    blkioWeight: has('blkio', 'blkio.weight') || has('blkio', 'blkio.bfq.weight'),
    blkioWeightDevice: has('blkio', 'blkio.weight_device') || has('blkio', 'blkio.bfq.weight_device'),
    blkioReadBps: has('blkio', 'blkio.throttle.read_bps_device'),
    blkioWriteBps: has('blkio', 'blkio.throttle.write_bps_device'),
    blkioReadIops: has('blkio', 'blkio.throttle.read_iops_device'),
    blkioWriteIops: has('blkio', 'blkio.throttle.write_iops_device'),
  };
}

function readV2(source: HostSource, driver: CgroupDriver, controllers: string[]): CgroupFacts {
  const has = (name: string): boolean => controllers.includes(name);
  const list = (file: string): string => source.read(`${UNIFIED}/${file}`)?.trim() ?? '';
  const io = has('io');
  return {
    version: 2,
    driver,
    mounts: { unified: UNIFIED },
    memoryLimit: has('memory'),
    // The root group has no memory.swap.max to look at; a kernel with swap accounting on v2 has /proc/swaps.
    swapLimit: has('memory') && source.exists('/proc/swaps'),
    memoryReservation: has('memory'),
    // Both knobs are gone in version 2 (kernel, admin-guide/cgroup-v2).
    memorySwappiness: false,
    oomKillDisable: false,
    cpuShares: has('cpu'),
    cpuCfs: has('cpu'),
    cpuRealtime: false,
    cpuset: has('cpuset'),
    cpusetCpus: list('cpuset.cpus.effective'),
    cpusetMems: list('cpuset.mems.effective'),
    pidsLimit: has('pids'),
    blkioWeight: io,
    blkioWeightDevice: io,
    blkioReadBps: io,
    blkioWriteBps: io,
    blkioReadIops: io,
    blkioWriteIops: io,
  };
}

/** Controller -> mount point, from mountinfo; `name=systemd` and the hybrid's cgroup2 are no controllers. */
function v1Mounts(mountinfo: string): Record<string, string> {
  const mounts: Record<string, string> = {};
  for (const line of mountinfo.split('\n')) {
    const [before = '', after = ''] = line.split(' - ');
    const [type = '', , options = ''] = after.split(' ');
    const mountPoint = before.split(' ')[4];
    if (type === 'cgroup' && mountPoint !== undefined) {
      for (const option of options.split(',').filter((word) => V1_CONTROLLERS.has(word))) {
        mounts[option] ??= mountPoint;
      }
    }
  }
  return mounts;
}
