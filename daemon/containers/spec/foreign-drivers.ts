import type { HostConfig } from '../../../api/types/container.ts';
import { invalidArgument } from '../../base/errors.ts';
import { refuseUnlessEmpty } from './refuse.ts';

/** What other engines have drivers for and this one has not: refused with dockerd's words, never ignored. */
export function refuseForeignDrivers(asked: HostConfig): void {
  refuseUnlessEmpty('Cgroup', asked.Cgroup);
  refuseStorageOptions(asked.StorageOpt ?? {});
  const [device] = asked.DeviceRequests ?? [];
  if (device !== undefined) {
    const capabilities = (device.Capabilities ?? []).map((list) => `[${list.join(' ')}]`).join(' ');
    throw invalidArgument(
      `DeviceRequests: could not select device driver ${JSON.stringify(device.Driver ?? '')} ` +
        `with capabilities: [${capabilities}]`,
    );
  }
}

/** Quotas need project quotas of the file system below overlayfs, which this engine does not set up. */
function refuseStorageOptions(options: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(options)) {
    throw invalidArgument(
      name.toLowerCase() === 'size'
        ? `StorageOpt ${name}=${value}: --storage-opt is supported only for overlay over xfs with 'pquota' mount option`
        : `StorageOpt: Unknown option ${name}`,
    );
  }
}
