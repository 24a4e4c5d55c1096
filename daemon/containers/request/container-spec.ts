import type { ContainerConfig } from '../../../api/types/container.ts';
import type { EndpointSettings } from '../../../api/types/endpoint.ts';
import type { HostConfig } from '../../../api/types/host-config.ts';
import type { LogDriverName } from '../../../runtime/log-drivers/drivers.ts';
import type { NormalLogConfig } from './log-config.ts';
import type { HubTokenRequest } from '../../base/hub-token-labels.ts';
import type { ResolvedMount } from './mounts/resolved-mount.ts';

/**
 * What a container is to be, for as long as it lives: the JSON of its row. Everything a client may ask has been
 * checked and every default filled in, so that a start only has to obey.
 */
export interface ContainerSpec {
  /** Image and request merged, as `docker inspect` shows it under Config. */
  config: ContainerConfig;
  /** With every default, as `docker inspect` shows it under HostConfig. */
  hostConfig: NormalHostConfig;
  /** By network name; empty when the network is another container's. */
  networking: Record<string, EndpointSettings>;
  /** The image reference as the client gave it. */
  createdFrom: string;
  /** First word of the command line, and the others. */
  path: string;
  args: string[];
  /** Sorted so that parents are mounted before what is inside them. */
  mounts: ResolvedMount[];
  /** Made by a build, for one step; after it has ended well it is removed, or kept (`rm=0`). */
  ofBuild?: 'removed' | 'kept';
  /**
   * The command of an operation of a build: it sees its layers as they are, without what other containers have in
   * between (`ensureInitLayer`), and of the engine's files in /etc those that BuildKit gives it.
   */
  ofCommand?: true;
  /** Made for a task of the swarm. Labels do not tell: an image that is made of such a container has them too. */
  ofTask?: true;
  /** Of the default bridge; absent = none. */
  links?: Link[];
  /**
   * By labels of the request; absent = none. An image's labels ask for none: who made it has no say over repositories.
   */
  hubToken?: HubTokenRequest;
  platform: string;
  /** Number of the signal that asks the container to end. */
  stopSignal: number;
  /** Seconds between that signal and SIGKILL; null = the engine's default. */
  stopTimeout: number | null;
  logDriver: LogDriverName;
}

/** Fields that inspect leaves out when they are empty. */
export type Omittable = 'Mounts' | 'Tmpfs' | 'Sysctls' | 'StorageOpt' | 'Annotations' | 'Init';

/** Dropped with a warning, never stored. */
type Obsolete = 'KernelMemory' | 'KernelMemoryTCP';

/** HostConfig with every default filled in. The compiler asks for each field of the API: none is forgotten here. */
export type NormalHostConfig = Required<Omit<HostConfig, Omittable | Obsolete | 'LogConfig'>> &
  Pick<HostConfig, Omittable> & { LogConfig: NormalLogConfig };

/** Another container of the default bridge, which this one knows by a name of its own. */
export interface Link {
  /** Full id of the other container. */
  targetId: string;
  alias: string;
}
