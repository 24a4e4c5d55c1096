import type { ContainerCreateRequest } from '../../../api/types/container.ts';
import type { HostConfig } from '../../../api/types/host-config.ts';
import type { HostFacts } from '../../../runtime/host/facts.ts';
import { invalidArgument } from '../../base/errors.ts';
import type { EngineDefaults } from './engine-defaults.ts';
import type { ResolvedMount } from './mounts/resolved-mount.ts';

/** What a specification needs to know of another container that it names. */
export interface OtherContainer {
  id: string;
  hostname: string;
  domainname: string;
  /** `container:` always with the full id. */
  networkMode: string;
  mounts: readonly ResolvedMount[];
}

export type ContainerLookup = (ref: string) => OtherContainer | undefined;

/** Which namespaces a container has of its own, in the API's words; `container:` always with the full id. */
export interface NamespaceModes {
  NetworkMode: string;
  IpcMode: string;
  PidMode: string;
  UTSMode: string;
  UsernsMode: string;
  CgroupnsMode: string;
}

export interface ResolvedNamespaces {
  modes: NamespaceModes;
  /** Names that come with a namespace of another container, or of the host. */
  identity: { hostname?: string; domainname?: string };
}

/** The network of a name, id or unique prefix; `default` is the default bridge. */
export type NetworkLookup = (ref: string) => { id: string; name: string } | undefined;

const PREFIX = 'container:';

/** Pure but for the look-up. Throws invalid_argument with dockerd's texts. */
export function resolveNamespaces(
  request: ContainerCreateRequest,
  host: HostConfig,
  world: {
    facts: HostFacts;
    defaults: EngineDefaults;
    findContainer: ContainerLookup;
  },
): ResolvedNamespaces {
  const network = host.NetworkMode || 'default';
  // A network, or a container, that is not there yet may be by the start, which says so if it is not (as dockerd).
  const neighbour = isContainerMode(network) ? neighbourOf(network, world.findContainer) : undefined;
  if (isContainerMode(network)) {
    refuseWithForeignNetwork(request, host, neighbour?.hostname ?? '');
  }
  // Inspect shows the host's name, and clients create anew from what it shows.
  if (host.UTSMode === 'host' && request.Hostname && request.Hostname !== world.facts.hostname) {
    throw invalidArgument('conflicting options: hostname and the UTS mode');
  }
  const sharesHostname = network === 'host' || host.UTSMode === 'host';
  return {
    modes: {
      NetworkMode: neighbour ? PREFIX + neighbour.id : network,
      IpcMode: ipcMode(host.IpcMode || world.defaults.ipcMode, world.findContainer),
      PidMode: pidMode(host.PidMode ?? '', world.findContainer),
      UTSMode: oneOf('UTS mode', host.UTSMode ?? '', ['', 'host']),
      UsernsMode: oneOf('user namespace mode', host.UsernsMode ?? '', ['', 'host']),
      CgroupnsMode: cgroupnsMode(host, world),
    },
    identity:
      neighbour === undefined
        ? sharesHostname
          ? { hostname: world.facts.hostname }
          : {}
        : { hostname: neighbour.hostname, domainname: neighbour.domainname },
  };
}

/** The id in `container:<id>`, undefined for every other mode. */
export function containerOfMode(mode: string): string | undefined {
  return mode.startsWith(PREFIX) ? mode.slice(PREFIX.length) : undefined;
}

function isContainerMode(mode: string): boolean {
  return mode === 'container' || mode.startsWith(PREFIX);
}

function neighbourOf(mode: string, find: ContainerLookup): ReturnType<ContainerLookup> {
  const ref = mode.slice(PREFIX.length);
  if (ref === '') {
    throw invalidArgument('invalid network mode: invalid container format container:<name|id>');
  }
  return find(ref);
}

function lookUp(mode: string, what: string, find: ContainerLookup): ReturnType<ContainerLookup> {
  const ref = mode.slice(PREFIX.length);
  if (ref === '') {
    throw invalidArgument(`invalid ${what} mode: invalid container format container:<name|id>`);
  }
  const found = find(ref);
  if (found === undefined) {
    // Not not_found, for the same reason as an unknown network.
    throw invalidArgument(`No such container: ${ref}`);
  }
  return found;
}

function pidMode(mode: string, find: ContainerLookup): string {
  if (mode === '' || mode === 'host') {
    return mode;
  }
  if (containerOfMode(mode)) {
    return PREFIX + (lookUp(mode, 'PID', find)?.id ?? '');
  }
  throw invalidArgument(`invalid PID mode: ${mode}`);
}

function ipcMode(mode: string, find: ContainerLookup): string {
  // Whether the other container shares its own is seen at start, as in dockerd.
  return mode.startsWith(PREFIX)
    ? PREFIX + (lookUp(mode, 'IPC', find)?.id ?? '')
    : oneOf('IPC mode', mode, ['private', 'shareable', 'none', 'host']);
}

function cgroupnsMode(
  host: HostConfig,
  { facts, defaults }: { facts: HostFacts; defaults: EngineDefaults },
): string {
  const mode = oneOf('cgroup namespace mode', host.CgroupnsMode ?? '', ['', 'private', 'host']);
  if (mode === 'private' && !facts.cgroupNamespaces) {
    throw invalidArgument('CgroupnsMode private: this kernel does not support cgroup namespaces');
  }
  // Version 1 has no delegation to protect; every engine keeps the host's view there.
  const usual = facts.cgroup.version === 2 ? 'private' : 'host';
  // A privileged container on version 1 expects the host's whole tree, whatever the daemon's default is (moby).
  const byDefault = facts.cgroup.version === 1 && host.Privileged ? 'host' : defaults.cgroupnsMode || usual;
  return mode || (facts.cgroupNamespaces ? byDefault : 'host');
}

function oneOf(what: string, mode: string, modes: readonly string[]): string {
  if (!modes.includes(mode)) {
    throw invalidArgument(`invalid ${what}: ${mode}`);
  }
  return mode;
}

/** A network that belongs to another container can be given neither names nor ports. */
function refuseWithForeignNetwork(request: ContainerCreateRequest, host: HostConfig, hostname: string): void {
  const conflicts: [boolean, string][] = [
    // Its own name is what inspect shows, and what clients send back.
    [Boolean(request.Hostname) && request.Hostname !== hostname, 'hostname and the network mode'],
    [
      Boolean(host.Links?.length),
      "container type network can't be used with links. This would result in undefined behavior",
    ],
    [Boolean(host.Dns?.length), 'dns and the network mode'],
    [Boolean(host.ExtraHosts?.length), 'custom host-to-IP mapping and the network mode'],
    [
      Object.keys(host.PortBindings ?? {}).length > 0 || Boolean(host.PublishAllPorts),
      'port publishing and the container type network mode',
    ],
    [Object.keys(request.ExposedPorts ?? {}).length > 0, 'port exposing and the container type network mode'],
    [Boolean(request.MacAddress), 'mac-address and the network mode'],
  ];
  const conflict = conflicts.find(([holds]) => holds);
  if (conflict) {
    throw invalidArgument(`conflicting options: ${conflict[1]}`);
  }
}
