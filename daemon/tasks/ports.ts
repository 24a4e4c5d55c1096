import type { ContainerCreateRequest, ContainerCreateResponse } from '../../api/types/container.ts';
import type { RegistryAuth } from '../../api/types/image.ts';
import type { ContainerPort, EventPort, ImagePort, NetworkPort } from '../../api/types/ports.ts';
import type { SystemInfo } from '../../api/types/system.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';

/** A file of the host that a container sees read-only, and that its inspection does not show. */
export interface HiddenFile {
  source: string;
  /** Absolute, in the container. */
  target: string;
}

/** Containers, as clients have them too; and what no client can ask for. */
export interface TaskContainers extends Pick<
  ContainerPort,
  'inspect' | 'list' | 'start' | 'stop' | 'wait' | 'remove' | 'logs'
> {
  create(
    name: string,
    body: ContainerCreateRequest,
    options: { signal: AbortSignal; hiddenFiles: readonly HiddenFile[] },
  ): Promise<ContainerCreateResponse>;
}

/** Mounts, as the kernel's are made elsewhere. */
export interface TaskMounts {
  tmpfs(target: string, options: { source: string; sizeBytes: number; mode: number }): Promise<void>;
  unmount(path: string): Promise<void>;
  below(path: string): string[];
}

export interface TaskExecutorDeps {
  containers: TaskContainers;
  images: Pick<ImagePort, 'inspect' | 'pull'>;
  networks: Pick<NetworkPort, 'inspect'>;
  events: EventPort;
  /** Of the node itself; what it is in a swarm is not asked. */
  system: { info(): Promise<Omit<SystemInfo, 'Swarm'>> };
  mounts: TaskMounts;
  clock: Clock;
  logger: Logger;
  /** Where files of tasks are kept in memory: an own directory below the exec root. */
  filesDirectory: string;
  /** Credentials of a header `X-Registry-Auth`. */
  registryAuth(header: string): RegistryAuth;
}
