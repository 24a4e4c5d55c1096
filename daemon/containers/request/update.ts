import { isDeepStrictEqual } from 'node:util';
import type { ContainerUpdateRequest } from '../../../api/types/container.ts';
import type { Resources } from '../../../api/types/host-config.ts';
import type { HostFacts } from '../../../runtime/host/facts.ts';
import { conflict, invalidArgument } from '../../base/errors.ts';
import type { ContainerSpec, NormalHostConfig } from './container-spec.ts';
import { checkRestartPolicy } from './host-config.ts';
import { isEmpty } from './refuse.ts';
import { normaliseResources } from './limits/resources.ts';

/** What an update may set; 0 and "" leave it as it is. */
const UPDATABLE = [
  'BlkioWeight',
  'CpuShares',
  'NanoCpus',
  'CpuPeriod',
  'CpuQuota',
  'CpuRealtimePeriod',
  'CpuRealtimeRuntime',
  'CpusetCpus',
  'CpusetMems',
  'Memory',
  'MemorySwap',
  'MemoryReservation',
] as const;

/** Lists that replace the old ones when they are given: an empty one leaves no rule. */
const DEVICE_RULES = [
  'BlkioWeightDevice',
  'BlkioDeviceReadBps',
  'BlkioDeviceWriteBps',
  'BlkioDeviceReadIOps',
  'BlkioDeviceWriteIOps',
] as const;

/** dockerd takes these from an update and forgets them; here they are refused, unless they say what is so already. */
const FIXED = [
  'CgroupParent',
  'Devices',
  'DeviceCgroupRules',
  'DeviceRequests',
  'Init',
  'MemorySwappiness',
  'OomKillDisable',
  'Ulimits',
] as const;

/** Checked like a new container's, and dropped: with a warning, or refused. */
const NEVER_IN_FORCE = [
  'KernelMemory',
  'KernelMemoryTCP',
  'CpuCount',
  'CpuPercent',
  'IOMaximumIOps',
  'IOMaximumBandwidth',
] as const;

/**
 * What a container is to be after an update. Pure. The limits are checked together with those that stay, by the rules
 * for new containers. Throws invalid_argument and conflict with dockerd's texts where it has one.
 */
export function updateSpec(
  spec: ContainerSpec,
  asked: ContainerUpdateRequest,
  facts: HostFacts,
): { spec: ContainerSpec; warnings: string[] } {
  const { hostConfig } = spec;
  refuseFixed(hostConfig, asked);
  // By itself first: what no container can have is told before what this one cannot.
  normaliseResources({ ...asked, MemorySwap: asked.Memory ? (asked.MemorySwap ?? 0) : 0 }, facts);
  const contradiction = contradictionOf(hostConfig, asked);
  if (contradiction !== undefined) {
    throw conflict(contradiction);
  }
  const wanted: Resources = { ...hostConfig };
  for (const field of UPDATABLE) {
    if (asked[field]) {
      Object.assign(wanted, { [field]: asked[field] });
    }
  }
  for (const field of DEVICE_RULES) {
    Object.assign(wanted, { [field]: asked[field] ?? hostConfig[field] });
  }
  for (const field of NEVER_IN_FORCE) {
    Object.assign(wanted, { [field]: asked[field] ?? 0 });
  }
  wanted.PidsLimit = asked.PidsLimit ?? hostConfig.PidsLimit;
  const { resources, warnings } = normaliseResources(wanted, facts);
  // What was said when the container was created need not be said again.
  const old = normaliseResources(hostConfig, facts).warnings;
  return {
    spec: {
      ...spec,
      hostConfig: { ...hostConfig, ...resources, ...restartPolicy(hostConfig, asked) },
    },
    warnings: warnings.filter((warning) => !old.includes(warning)),
  };
}

function refuseFixed(current: NormalHostConfig, asked: ContainerUpdateRequest): void {
  for (const field of FIXED) {
    if (!isEmpty(asked[field]) && !isDeepStrictEqual(asked[field], current[field])) {
      throw invalidArgument(`${field} of a container cannot be updated`, { details: { field } });
    }
  }
}

function contradictionOf(current: NormalHostConfig, asked: Resources): string | undefined {
  const { NanoCpus = 0, CpuPeriod = 0, CpuQuota = 0, Memory = 0, MemorySwap = 0 } = asked;
  if (NanoCpus > 0 && current.CpuPeriod > 0) {
    return 'Conflicting options: Nano CPUs cannot be updated as CPU Period has already been set';
  }
  if (NanoCpus > 0 && current.CpuQuota > 0) {
    return 'Conflicting options: Nano CPUs cannot be updated as CPU Quota has already been set';
  }
  if (CpuPeriod > 0 && current.NanoCpus > 0) {
    return 'Conflicting options: CPU Period cannot be updated as NanoCPUs has already been set';
  }
  if (CpuQuota > 0 && current.NanoCpus > 0) {
    return 'Conflicting options: CPU Quota cannot be updated as NanoCPUs has already been set';
  }
  if (MemorySwap === 0 && Memory > current.MemorySwap && current.MemorySwap !== -1) {
    return (
      'Memory limit should be smaller than already set memoryswap limit, update the memoryswap at the same ' +
      'time'
    );
  }
  return undefined;
}

function restartPolicy(
  { AutoRemove }: NormalHostConfig,
  { RestartPolicy }: ContainerUpdateRequest,
): Pick<NormalHostConfig, 'RestartPolicy'> | undefined {
  if (RestartPolicy === undefined || isEmpty(RestartPolicy.Name)) {
    // A count without a name is wrong for itself.
    checkRestartPolicy(RestartPolicy, { autoRemove: false });
    return undefined;
  }
  const policy = checkRestartPolicy(RestartPolicy, { autoRemove: false });
  if (AutoRemove && policy.Name !== 'no') {
    throw conflict('Restart policy cannot be updated because AutoRemove is enabled for the container');
  }
  return { RestartPolicy: policy };
}
