import type { ContainerSpec } from '../request/container-spec.ts';
import { readBlockDevices, readHostDevices } from './host-devices.ts';
import { checkPropagation } from './propagation.ts';
import type { LaunchFacts } from './translate.ts';
import { readAccountFiles, resolveUser } from './user.ts';

/**
 * Looks up what `translate` needs of the host and of the mounted root: the user, devices, mount propagation.
 * Throws invalid_argument with dockerd's texts. Call it when the root is mounted, before anything runs in it.
 */
export function readLaunchFacts(
  spec: ContainerSpec,
  rootPath: string,
): Pick<LaunchFacts, 'user' | 'devices' | 'blockDevices'> {
  checkPropagation(spec.mounts);
  return {
    user: resolveUser(spec.config.User ?? '', readAccountFiles(rootPath), spec.hostConfig.GroupAdd ?? []),
    devices: readHostDevices(spec.hostConfig),
    blockDevices: readBlockDevices(spec.hostConfig),
  };
}
