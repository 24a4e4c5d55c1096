import { readdirSync, readFileSync, statfsSync } from 'node:fs';
import { ifThere } from '../base/errors.ts';
import type { LiveFacts } from './ports.ts';

/** Magic numbers of statfs(2) -> names as dockerd prints them. */
const FILE_SYSTEMS: ReadonlyMap<number, string> = new Map([
  [0xef53, 'extfs'],
  [0x58465342, 'xfs'],
  [0x9123683e, 'btrfs'],
  [0x01021994, 'tmpfs'],
  [0x794c7630, 'overlayfs'],
  [0x2fc12fc1, 'zfs'],
  [0xf2f52010, 'f2fs'],
  [0xca451a4e, 'bcachefs'],
  [0x6969, 'nfs'],
]);

/** This process and its kernel. All of it comes from memory (/proc, statfs), so nothing here waits for a disk. */
export const liveFacts: LiveFacts = {
  isOn: (sysctl) => {
    // The switches of a kernel module that is not loaded are not there.
    return ifThere(() => readFileSync(`/proc/sys/${sysctl}`, 'utf8').trim() === '1') ?? false;
  },
  openFiles: () => readdirSync('/proc/self/fd').length,
  activeResources: () => process.getActiveResourcesInfo().length,
  fileSystem: (path) => FILE_SYSTEMS.get(statfsSync(path).type) ?? 'unknown',
};
