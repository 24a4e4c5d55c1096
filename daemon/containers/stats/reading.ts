import type { ContainerSample } from '../../../runtime/cgroups/sample.ts';

/** All processors of the host together. */
export interface HostCpu {
  /** Nanoseconds that they have run or idled since boot. */
  totalNs: number;
  online: number;
}

/** What was seen of one container at one moment. */
export interface Reading {
  atNano: bigint;
  host: HostCpu;
  /** Undefined while it does not run. */
  sample: ContainerSample | undefined;
}
