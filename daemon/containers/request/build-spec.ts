import type { ContainerConfig, ContainerCreateRequest } from '../../../api/types/container.ts';
import type { EndpointSettings } from '../../../api/types/endpoint.ts';
import type { HostConfig, Ulimit } from '../../../api/types/host-config.ts';
import type { LogDriverName } from '../../../runtime/log-drivers/drivers.ts';
import type { HostFacts } from '../../../runtime/host/facts.ts';
import { parseSignal } from '../../base/signals.ts';
import type { ResolvedImage } from '../ports.ts';
import { mergeConfig, platformWarnings } from './config.ts';
import { normaliseHostConfig } from './host-config.ts';
import type { NormalHostConfig } from './host-config.ts';
import type { LogDefaults } from './log-config.ts';
import type { Link } from './links.ts';
import { isOfUser, resolveLinks } from './links.ts';
import type { ResolvedMount } from './mounts/mount-points.ts';
import { resolveMounts } from './mounts/mount-points.ts';
import type { ContainerLookup, NetworkLookup } from './namespaces.ts';
import { resolveNamespaces } from './namespaces.ts';
import { resolveEndpoints } from './networking.ts';
import { refuseNul } from './refuse.ts';
import { donatedMounts } from './mounts/volumes-from.ts';

/**
 * What a container is to be, for as long as it lives: the JSON of its row. Everything a client may ask has been
 * checked and every default filled in, so that whoever starts the container only has to obey.
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
  /** Of the default bridge; absent = none. */
  links?: Link[];
  platform: string;
  /** Number of the signal that asks the container to end. */
  stopSignal: number;
  /** Seconds between that signal and SIGKILL; null = the engine's default. */
  stopTimeout: number | null;
  logDriver: LogDriverName;
}

/** What the configuration of the daemon decides for containers that do not say. */
export interface EngineDefaults {
  shmSizeBytes: number;
  /** Whether others may join the IPC namespace. */
  ipcMode: 'private' | 'shareable';
  /** Empty = private on cgroup version 2, else the host's. */
  cgroupnsMode: '' | 'private' | 'host';
  init: boolean;
  noNewPrivileges: boolean;
  /** The runtime of containers that ask for none. */
  runtime: string;
  /** Names of those besides runc. */
  runtimes: readonly string[];
  log: LogDefaults;
  /** Applied unless the container has one of the same name. */
  ulimits: readonly Ulimit[];
  /** Name of a loaded AppArmor profile; null = none. */
  apparmorProfile: string | null;
  /** `builtin`, `unconfined` or the JSON of a profile, which has been checked. */
  seccomp: string;
}

/** The defaults of an unconfigured daemon. */
export const engineDefaults: EngineDefaults = {
  shmSizeBytes: 64 * 1024 * 1024,
  ipcMode: 'private',
  cgroupnsMode: '',
  init: false,
  noNewPrivileges: false,
  runtime: 'runc',
  runtimes: [],
  log: { driver: 'json-file', options: {} },
  ulimits: [],
  apparmorProfile: null,
  seccomp: 'builtin',
};

export interface BuildSpecInput {
  id: string;
  request: ContainerCreateRequest;
  image: ResolvedImage;
  facts: HostFacts;
  defaults: EngineDefaults;
  /** The container that a field names, undefined when there is none. */
  findContainer: ContainerLookup;
  findNetwork: NetworkLookup;
  /** Whether a path exists on the host; asked only for binds that must not be created. */
  hostPathExists: (path: string) => boolean;
}

/**
 * Decides what a create request means. Pure but for the questions in its input.
 * Throws EngineError invalid_argument with dockerd's text where it has one, else naming field and value: a field is
 * put in force or refused, never ignored. Warnings are for the answer of create.
 */
export function buildSpec(input: BuildSpecInput): { spec: ContainerSpec; warnings: string[] } {
  const { request, image, facts, defaults, id } = input;
  refuseNul(request);
  refuseNul(image.config, 'image configuration');
  const hostRequest: HostConfig = request.HostConfig ?? {};
  const namespaces = resolveNamespaces(request, hostRequest, input);
  const { config, warnings: configWarnings } = mergeConfig(request, image.config, {
    ...namespaces.identity,
    id,
  });
  const { hostConfig, warnings: hostWarnings } = normaliseHostConfig(hostRequest, {
    facts,
    defaults,
    modes: namespaces.modes,
  });
  const { links, warnings: linkWarnings } = resolveLinks(
    hostRequest.Links ?? [],
    hostConfig.NetworkMode,
    input.findContainer,
  );
  const networking = resolveEndpoints(request, hostConfig.NetworkMode, input.findNetwork);
  const [path, ...args] = commandLine(config);
  return {
    spec: {
      config,
      hostConfig,
      networking,
      createdFrom: request.Image ?? '',
      ...(links.length > 0 && { links }),
      path,
      args,
      mounts: resolveMounts({
        id,
        config,
        hostConfig,
        selinux: facts.selinux,
        recursiveReadOnly: facts.recursiveReadOnly,
        hostPathExists: input.hostPathExists,
        donated: donatedMounts(hostConfig.VolumesFrom ?? [], (ref) => input.findContainer(ref)?.mounts),
      }),
      platform: 'linux',
      stopSignal: parseSignal(config.StopSignal ?? 'SIGTERM'),
      stopTimeout: config.StopTimeout ?? null,
      logDriver: hostConfig.LogConfig.Type,
    },
    warnings: [
      ...platformWarnings(image, facts),
      ...configWarnings,
      ...hostWarnings,
      ...linkWarnings,
      ...idleLinks(hostRequest, networking),
    ],
  };
}

/** Links that do nothing, in a network of a user where no endpoint has them too (docker CLI and compose send both). */
function idleLinks(
  { Links, NetworkMode = '' }: HostConfig,
  networking: Readonly<Record<string, EndpointSettings>>,
): string[] {
  const isIdle =
    (Links ?? []).length > 0 &&
    isOfUser(NetworkMode) &&
    Object.values(networking).every((endpoint) => (endpoint.Links ?? []).length === 0);
  return isIdle
    ? [`Links of HostConfig have no effect in network ${NetworkMode}: use those of its endpoint.`]
    : [];
}

/** mergeConfig has made sure that there is a first word. */
function commandLine(config: ContainerConfig): [string, ...string[]] {
  const [first = '', ...rest] = [...(config.Entrypoint ?? []), ...(config.Cmd ?? [])];
  return [first, ...rest];
}
