import type { DeviceMapping, HostConfig } from '../../../../api/types/host-config.ts';
import { invalidArgument } from '../../../base/errors.ts';
import { cleanPath, problemOfDestination } from '../container-path.ts';

/** `c 1:3 rwm`, `b *:* r`, `a *:* rwm` (cgroup-v1/devices). */
export const DEVICE_RULE = /^([acb]) (\d{1,10}|\*):(\d{1,10}|\*) ([rwm]{1,3})$/;
const PERMISSIONS = /^(?!.*(.).*\1)[rwm]{1,3}$/;

/** Checks what a container may do with devices. Whether they exist is seen at start, as with dockerd. */
export function checkDevices(asked: HostConfig): {
  Devices: DeviceMapping[] | null;
  DeviceCgroupRules: string[] | null;
} {
  const wrong = asked.DeviceCgroupRules?.find((rule) => !DEVICE_RULE.test(rule));
  if (wrong !== undefined) {
    throw invalidArgument(`invalid device cgroup rule format: '${wrong}'`);
  }
  return {
    Devices: asked.Devices?.map(checkDevice) ?? null,
    DeviceCgroupRules: asked.DeviceCgroupRules ?? null,
  };
}

function checkDevice(device: { [name in keyof DeviceMapping]?: DeviceMapping[name] }): DeviceMapping {
  const { PathOnHost = '', PathInContainer = '', CgroupPermissions = '' } = device;
  const inside = PathInContainer || PathOnHost;
  if (!PathOnHost.startsWith('/')) {
    throw invalidArgument(`invalid device: PathOnHost must be absolute: ${PathOnHost || 'none is given'}`);
  }
  const problem = problemOfDestination(inside);
  if (problem !== undefined) {
    throw invalidArgument(`invalid device ${PathOnHost}: ${problem}`);
  }
  if (CgroupPermissions !== '' && !PERMISSIONS.test(CgroupPermissions)) {
    throw invalidArgument(`invalid device mode: ${CgroupPermissions}`);
  }
  return {
    PathOnHost: cleanPath(PathOnHost),
    PathInContainer: cleanPath(inside),
    CgroupPermissions: CgroupPermissions || 'rwm',
  };
}
