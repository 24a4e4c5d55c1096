import type { ContainerConfig, ContainerCreateRequest } from '../../../api/types/container.ts';
import type { EndpointSettings } from '../../../api/types/endpoint.ts';
import type { HostConfig } from '../../../api/types/host-config.ts';
import type { HostFacts } from '../../../runtime/host/facts.ts';
import { parseSignal } from '../../base/signals.ts';
import type { ResolvedImage } from '../../images/images.ts';
import { mergeConfig, platformWarnings } from './config.ts';
import type { ContainerSpec } from './container-spec.ts';
import type { EngineDefaults } from './engine-defaults.ts';
import { requestedDevices } from './device-requests.ts';
import { normaliseHostConfig } from './host-config.ts';
import { isOfUser, resolveLinks } from './links.ts';
import { resolveMounts } from './mounts/mount-points.ts';
import { inheritedMounts } from './mounts/volumes-from.ts';
import type { ContainerLookup, NetworkLookup } from './namespaces.ts';
import { resolveNamespaces } from './namespaces.ts';
import { outdatedWarnings } from './outdated.ts';
import { resolveEndpoints } from './networking.ts';
import { refuseNul } from './refuse.ts';

export interface BuildSpecInput {
  id: string;
  request: ContainerCreateRequest;
  image: ResolvedImage;
  /** The client has named the image's platform. */
  isPlatformAsked: boolean;
  facts: HostFacts;
  defaults: EngineDefaults;
  /** The container that a field names, undefined when there is none. */
  findContainer: ContainerLookup;
  findNetwork: NetworkLookup;
  /** Whether a path exists on the host; asked only for binds that must not be created. */
  hostPathExists: (path: string) => boolean;
  /** The id of the image of this name; undefined when there is none. Asked for mounts of type image. */
  findImage: (ref: string) => string | undefined;
  /** Names of the devices that are described on this host (`vendor.com/class=name`). Asked for GPUs. */
  describedDevices: () => readonly string[];
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
  // Which devices there are is seen at each start.
  requestedDevices(hostConfig, input.describedDevices);
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
        findImage: input.findImage,
        inherited: inheritedMounts(hostConfig.VolumesFrom ?? [], (ref) => input.findContainer(ref)?.mounts),
      }),
      platform: 'linux',
      stopSignal: parseSignal(config.StopSignal ?? 'SIGTERM'),
      stopTimeout: config.StopTimeout ?? null,
      logDriver: hostConfig.LogConfig.Type,
    },
    warnings: [
      ...platformWarnings(image, facts, input.isPlatformAsked),
      ...configWarnings,
      ...hostWarnings,
      ...linkWarnings,
      ...idleLinks(hostRequest, networking),
      ...outdatedWarnings(request),
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
