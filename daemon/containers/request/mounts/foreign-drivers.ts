import type { HostConfig } from '../../../../api/types/host-config.ts';
import { invalidArgument } from '../../../base/errors.ts';
import { refuseUnlessEmpty } from '../refuse.ts';

/** What other engines have drivers for and this one has not: refused with dockerd's words, never ignored. */
export function refuseForeignDrivers(asked: HostConfig): void {
  refuseUnlessEmpty('Cgroup', asked.Cgroup);
  const [device] = asked.DeviceRequests ?? [];
  if (device !== undefined) {
    const capabilities = (device.Capabilities ?? []).map((list) => `[${list.join(' ')}]`).join(' ');
    throw invalidArgument(
      `DeviceRequests: could not select device driver ${JSON.stringify(device.Driver ?? '')} ` +
        `with capabilities: [${capabilities}]`,
    );
  }
}
