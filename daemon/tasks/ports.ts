import type { ContainerCreateRequest, ContainerCreateResponse } from '../../api/types/container.ts';
import type { RegistryAuth } from '../../api/types/image.ts';
import type { ContainerPort, EventPort, ImagePort, NetworkPort } from '../../api/types/ports.ts';
import type { AttachContainer } from '../../api/types/swarm/networks.ts';
import type { NetworksChange } from '../../api/types/swarm/overlay.ts';
import type { SystemInfo } from '../../api/types/system.ts';
import type { ManagerImages, OfferedImage } from '../../swarm/images/ports.ts';
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
    options: { signal: AbortSignal; task: { files: readonly HiddenFile[] } },
  ): Promise<ContainerCreateResponse>;
}

/** Mounts of this daemon's own. */
export interface TaskMounts {
  /** An empty file system in memory, which is not swapped out where the kernel can do that. */
  secretTmpfs(target: string, options: { source: string; sizeBytes: number; mode: number }): Promise<void>;
  /** Nothing mounted is not an error. */
  unmount(path: string): Promise<void>;
  /** Mount points at or below a directory. */
  below(path: string): string[];
}

/** Networks of the swarm on this node. */
export interface TaskOverlays {
  /** Returns when it is in force, or `trouble` tells why not. */
  apply(change: NetworksChange): Promise<void>;
  /** Why a network is not in force, as a sentence. */
  trouble(networkId: string): string | undefined;
}

/** Images of this engine. */
export interface TaskImageStore extends Pick<ImagePort, 'pull'> {
  /** Undefined where there is none of that name or id, or not all of it. */
  share(image: string): { id: string; taggedNano: bigint } | undefined;
  /** Brings an image from managers, as a pull of that name would. */
  receive(name: string, image: OfferedImage, options: { signal: AbortSignal }): Promise<void>;
}

/** What tasks are run with. */
export interface TaskDeps {
  containers: TaskContainers;
  images: TaskImageStore;
  /** Who is asked for images that no registry has. */
  managers: ManagerImages;
  networks: Pick<NetworkPort, 'inspect'>;
  overlays: TaskOverlays;
  /** Containers in networks of the swarm that are no tasks. */
  attachments: { list(): AttachContainer[] };
  events: EventPort;
  /** Of the node itself; what it is in a swarm is not asked. */
  system: { info(): Promise<Omit<SystemInfo, 'Swarm'>> };
  /** What this host's interfaces and its own networks are in, `ADDRESS/LENGTH`. */
  subnets(): string[];
  mounts: TaskMounts;
  clock: Clock;
  logger: Logger;
  /** Where files of tasks are kept in memory: a directory of its own below the exec root. */
  filesDirectory: string;
  /** Credentials of a header `X-Registry-Auth`. */
  registryAuth(header: string): RegistryAuth;
}
