import { join } from 'node:path';

/** Files of one container below the data root. */
export interface ContainerFiles {
  directory: string;
  log: string;
  hostname: string;
  hosts: string;
  resolvConf: string;
  /** Where a shared /dev/shm is mounted. */
  sharedMemory: string;
  /** Where the file system of its hub token is mounted. */
  hubToken: string;
}

export function containersDirectory(dataRoot: string): string {
  return join(dataRoot, 'containers');
}

/** SAFETY: `id` is one of ours, 64 hexadecimal digits; no client's text goes into these paths. */
export function containerFiles(dataRoot: string, id: string): ContainerFiles {
  const directory = join(containersDirectory(dataRoot), id);
  return {
    directory,
    log: join(directory, 'container.log'),
    hostname: join(directory, 'hostname'),
    hosts: join(directory, 'hosts'),
    resolvConf: join(directory, 'resolv.conf'),
    sharedMemory: join(directory, 'shm'),
    hubToken: join(directory, 'hub'),
  };
}
