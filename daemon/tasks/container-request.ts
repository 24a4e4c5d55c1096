import type { ContainerCreateRequest } from '../../api/types/container.ts';
import type { EndpointSettings } from '../../api/types/endpoint.ts';
import type { HostConfig, LogConfig, PortMap } from '../../api/types/host-config.ts';
import type { ContainerSpec } from '../../api/types/swarm/container-spec.ts';
import type { PortConfig } from '../../api/types/swarm/service.ts';
import type { GenericResource } from '../../api/types/swarm/task.ts';
import type { TaskToRun } from '../../swarm/agent/executor.ts';
import { invalidArgument } from '../base/errors.ts';
import { taskLabels } from './labels.ts';
import { securityOptions } from './security.ts';
import type { TaskNetwork } from './task-networks.ts';

const SECOND_NANO = 1_000_000_000;

/** Networks without names of their own: containers there have no aliases. */
const NAMELESS = new Set(['bridge', 'host', 'none']);

/**
 * What a task's container is to be. Without networks it is on the default bridge. Throws invalid_argument for what
 * Linux does not have. Pure.
 */
export function containerRequest(task: TaskToRun, networks: readonly TaskNetwork[]): ContainerCreateRequest {
  const spec = task.spec.ContainerSpec ?? {};
  refuseUnsupported(spec);
  const grace = graceSeconds(spec);
  const ports = task.hostPorts.map((port) => portKey(port));
  const endpoints = networks.map((network) => [network.name, endpoint(task, network)]);
  return {
    Image: spec.Image ?? '',
    Labels: taskLabels(task),
    Env: [...(spec.Env ?? []), ...genericEnvironment(task.generic)],
    ...command(spec),
    ...given('Hostname', spec.Hostname),
    ...given('WorkingDir', spec.Dir),
    ...given('User', spec.User),
    ...given('StopSignal', spec.StopSignal),
    ...(grace !== undefined && { StopTimeout: grace }),
    ...(spec.Healthcheck && { Healthcheck: spec.Healthcheck }),
    Tty: spec.TTY ?? false,
    OpenStdin: spec.OpenStdin ?? false,
    ...(ports.length > 0 && { ExposedPorts: Object.fromEntries(ports.map((key) => [key, {}])) }),
    HostConfig: hostConfig(task, spec, networks.find(({ isIngress }) => !isIngress)?.name),
    ...(endpoints.length > 0 && {
      NetworkingConfig: { EndpointsConfig: Object.fromEntries(endpoints) },
    }),
  };
}

/** In networks of this node with names the service's is one of all its tasks; the swarm's know them by themselves. */
function endpoint({ service }: TaskToRun, { name, config, addresses }: TaskNetwork): EndpointSettings {
  const { Aliases, DriverOpts } = config;
  const isNameless = NAMELESS.has(name) || addresses !== undefined;
  const names = isNameless ? [] : [...new Set([...(Aliases ?? []), service.name])];
  return {
    ...(addresses && { IPAMConfig: addressConfig(addresses) }),
    ...(names.length > 0 && { Aliases: names }),
    ...(DriverOpts && { DriverOpts }),
  };
}

function addressConfig(addresses: readonly string[]): NonNullable<EndpointSettings['IPAMConfig']> {
  const six = addresses.find((address) => address.includes(':'));
  const four = addresses.find((address) => !address.includes(':'));
  return { ...(four && { IPv4Address: four }), ...(six && { IPv6Address: six }) };
}

/** Seconds between the stop signal and SIGKILL; undefined = the engine's default. */
export function graceSeconds({ StopGracePeriod }: ContainerSpec): number | undefined {
  return typeof StopGracePeriod === 'number' ? Math.ceil(StopGracePeriod / SECOND_NANO) : undefined;
}

/** `80/tcp`. */
export function portKey({ TargetPort = 0, Protocol = 'tcp' }: PortConfig): string {
  return `${TargetPort}/${Protocol}`;
}

/** An image's entrypoint stays, unless the service has a command. */
function command({ Command, Args }: ContainerSpec): Pick<ContainerCreateRequest, 'Entrypoint' | 'Cmd'> {
  return {
    ...(Command && Command.length > 0 && { Entrypoint: Command }),
    ...(Args && Args.length > 0 && { Cmd: Args }),
  };
}

function hostConfig(task: TaskToRun, spec: ContainerSpec, network: string | undefined): HostConfig {
  const { DNSConfig, Hosts, Ulimits } = spec;
  return {
    RestartPolicy: { Name: 'no' },
    ...resources(task),
    ...(Ulimits && { Ulimits }),
    ...(spec.OomScoreAdj !== undefined && { OomScoreAdj: spec.OomScoreAdj }),
    ...(network !== undefined && { NetworkMode: network }),
    ...(task.hostPorts.length > 0 && { PortBindings: portBindings(task.hostPorts) }),
    ...logConfig(task),
    ...(spec.Mounts && { Mounts: spec.Mounts }),
    ...(typeof spec.Init === 'boolean' && { Init: spec.Init }),
    ReadonlyRootfs: spec.ReadOnly ?? false,
    ...given('Isolation', spec.Isolation),
    ...(spec.Groups && { GroupAdd: spec.Groups }),
    ...(spec.CapabilityAdd && { CapAdd: spec.CapabilityAdd }),
    ...(spec.CapabilityDrop && { CapDrop: spec.CapabilityDrop }),
    ...(spec.Sysctls && { Sysctls: spec.Sysctls }),
    ...(spec.Privileges && { SecurityOpt: securityOptions(spec.Privileges) }),
    ...(Hosts && { ExtraHosts: Hosts.flatMap((line) => extraHost(line)) }),
    ...(DNSConfig && {
      Dns: DNSConfig.Nameservers ?? [],
      DnsSearch: DNSConfig.Search ?? [],
      DnsOptions: DNSConfig.Options ?? [],
    }),
  };
}

/** Limits bind the container; of reservations memory does, as far as the kernel has an idea of it. */
function resources({ spec: { Resources } }: TaskToRun): HostConfig {
  const { Limits, Reservations, SwapBytes, MemorySwappiness } = Resources ?? {};
  return {
    ...(Limits?.NanoCPUs && { NanoCpus: Limits.NanoCPUs }),
    ...(Limits?.MemoryBytes && { Memory: Limits.MemoryBytes }),
    ...(Limits?.Pids && { PidsLimit: Limits.Pids }),
    ...(Reservations?.MemoryBytes && { MemoryReservation: Reservations.MemoryBytes }),
    ...swap(Limits?.MemoryBytes, SwapBytes),
    ...(typeof MemorySwappiness === 'number' && { MemorySwappiness }),
  };
}

/** A container's number counts memory and swap together. */
function swap(memory: number | undefined, bytes: number | null | undefined): HostConfig {
  if (typeof bytes !== 'number') {
    return {};
  }
  return { MemorySwap: bytes === -1 ? -1 : (memory ?? 0) + bytes };
}

function portBindings(ports: readonly PortConfig[]): PortMap {
  const bindings: PortMap = {};
  for (const port of ports) {
    const key = portKey(port);
    const HostPort = port.PublishedPort === undefined ? '' : String(port.PublishedPort);
    bindings[key] = [...(bindings[key] ?? []), { HostPort: HostPort === '0' ? '' : HostPort }];
  }
  return bindings;
}

function logConfig({ spec, logDriver }: TaskToRun): { LogConfig?: LogConfig } {
  const { Name = '', Options } = spec.LogDriver ?? logDriver ?? {};
  return Name === '' ? {} : { LogConfig: { Type: Name, Config: Options ?? {} } };
}

/** `IP name aliases`; the aliases have no place in a container's list. */
function extraHost(line: string): string[] {
  const [address, name] = line.trim().split(/\s+/);
  return address === undefined || name === undefined ? [] : [`${name}:${address}`];
}

/** `DOCKER_RESOURCE_GPU=UUID1,UUID2` for named ones, the count for others. */
function genericEnvironment(resourcesOfTask: readonly GenericResource[]): string[] {
  const values = new Map<string, string[]>();
  for (const { NamedResourceSpec, DiscreteResourceSpec } of resourcesOfTask) {
    const { Kind, Value } = NamedResourceSpec ?? DiscreteResourceSpec ?? { Kind: '', Value: '' };
    values.set(Kind, [...(values.get(Kind) ?? []), String(Value)]);
  }
  return [...values].map(([kind, list]) => `DOCKER_RESOURCE_${kind.toUpperCase()}=${list.join(',')}`);
}

function refuseUnsupported({ Privileges, Configs }: ContainerSpec): void {
  if (Privileges?.CredentialSpec || Configs?.some(({ Runtime }) => Runtime !== undefined)) {
    throw invalidArgument('credential specs are of Windows: this node runs Linux containers');
  }
}

/** A field, unless its text is empty. */
function given<K extends string>(key: K, value: string | undefined): { [P in K]?: string } {
  // The compiler does not connect a computed key with its type.
  return (value ? { [key]: value } : {}) as { [P in K]?: string };
}
