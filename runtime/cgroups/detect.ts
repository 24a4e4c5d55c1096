import { existsSync, readFileSync } from 'node:fs';
import { parseMountInfo } from '../mounts/mountinfo.ts';
import type { MountInfo } from '../mounts/mountinfo.ts';

/** What makes and removes cgroups: runc and the daemon below their parent, or systemd as scopes of a slice. */
export type CgroupDriver = 'cgroupfs' | 'systemd';

/** The cgroup hierarchies of this host. */
export interface CgroupLayout {
  /** 1 also for hybrid hosts, where `unified` lies beside the controllers of version 1: as runc and Docker count. */
  version: 1 | 2;
  /** Mount points of version 1, by controller (`memory`) or name (`name=systemd`); co-mounted ones share one. */
  controllers: ReadonlyMap<string, string>;
  /** Mount point of version 2; null when there is none. */
  unified: string | null;
}

/** Finds the hierarchies among the host's mounts. Controllers hidden below another mount are ignored. */
export function cgroupLayout(mounts: readonly MountInfo[]): CgroupLayout {
  const controllers = new Map<string, string>();
  let unified: string | null = null;
  for (const { type, mountPoint, superOptions } of mounts) {
    if (type === 'cgroup2') {
      unified ??= mountPoint;
    }
    if (type === 'cgroup') {
      for (const option of superOptions) {
        if ((V1_CONTROLLERS.has(option) || option.startsWith('name=')) && !controllers.has(option)) {
          controllers.set(option, mountPoint);
        }
      }
    }
  }
  return { version: unified !== null && controllers.size === 0 ? 2 : 1, controllers, unified };
}

const V1_CONTROLLERS = new Set([
  'blkio',
  'cpu',
  'cpuacct',
  'cpuset',
  'devices',
  'freezer',
  'hugetlb',
  'memory',
  'misc',
  'net_cls',
  'net_prio',
  'perf_event',
  'pids',
  'rdma',
]);

/** The hierarchies of this host, and the driver that Docker would choose: systemd on version 2 where it runs. */
export function detectCgroups(): { layout: CgroupLayout; driver: CgroupDriver } {
  const layout = cgroupLayout(parseMountInfo(readFileSync('/proc/self/mountinfo', 'utf8')));
  // sd_booted(3): this directory exists exactly when systemd is the init system.
  const systemd = existsSync('/run/systemd/system');
  return { layout, driver: layout.version === 2 && systemd ? 'systemd' : 'cgroupfs' };
}
