import type { PortMap } from '../../../api/types/host-config.ts';
import type { Protocol } from '../../../runtime/network/port-reservations.ts';
import { invalidArgument } from '../../base/errors.ts';
import { parseIp } from '../../base/addresses/ip.ts';
import type { IpAddress } from '../../base/addresses/ip.ts';

/** The host ports that a container asks for, before any is taken. Pure. */
export interface PortPlan {
  /** `80/tcp` of every port that is exposed or published, in order of number. */
  ports: string[];
  bindings: PlannedBinding[];
}

export interface PlannedBinding {
  /** `80/tcp` */
  port: string;
  protocol: Protocol;
  containerPort: number;
  /** With several the same host port is taken on each, where the container has an address of that family. */
  hostAddresses: readonly IpAddress[];
  /** Any free one of these, inclusive; undefined = any free one of the ephemeral range. */
  hostPorts: { first: number; last: number } | undefined;
}

export interface PortRequest {
  exposedPorts: readonly string[];
  portBindings: PortMap;
  publishAllPorts: boolean;
}

/**
 * Throws invalid_argument naming the field and the value. `defaultHostIp` is for bindings that name no
 * address.
 */
export function planPorts(request: PortRequest, defaultHostIp: string): PortPlan {
  const ports = new Map<string, ContainerPort>();
  for (const key of request.exposedPorts) {
    for (const port of containerPorts('ExposedPorts', key)) {
      ports.set(port.key, port);
    }
  }
  const bindings: PlannedBinding[] = [];
  for (const [key, wanted] of Object.entries(request.portBindings)) {
    const [port, ...more] = containerPorts('PortBindings', key);
    if (port === undefined || more.length > 0) {
      throw invalidArgument(`PortBindings: invalid port specification: "${key}": expected one port`);
    }
    ports.set(port.key, port);
    for (const binding of wanted ?? []) {
      bindings.push({
        port: port.key,
        protocol: port.protocol,
        containerPort: port.number,
        hostAddresses: hostAddressesOf(binding.HostIp ?? '', defaultHostIp),
        hostPorts: hostPortsOf(binding.HostPort ?? ''),
      });
    }
  }
  if (request.publishAllPorts) {
    const bound = new Set(bindings.map(({ port }) => port));
    for (const port of [...ports.values()].filter(({ key }) => !bound.has(key))) {
      const hostAddresses = hostAddressesOf('', defaultHostIp);
      const { key, protocol, number: containerPort } = port;
      bindings.push({ port: key, protocol, containerPort, hostAddresses, hostPorts: undefined });
    }
  }
  const sorted = [...ports.values()].toSorted(byNumber);
  const order = new Map(sorted.map(({ key }, index) => [key, index]));
  return {
    ports: sorted.map(({ key }) => key),
    // Stable: several bindings of one port keep the client's order.
    bindings: bindings.toSorted((a, b) => (order.get(a.port) ?? 0) - (order.get(b.port) ?? 0)),
  };
}

interface ContainerPort {
  key: string;
  number: number;
  protocol: Protocol;
}

function byNumber(a: ContainerPort, b: ContainerPort): number {
  return a.number - b.number || (a.protocol < b.protocol ? -1 : 1);
}

/** `80`, `80/tcp`, `53/udp` or a range `8000-8010/tcp`. */
function containerPorts(field: string, key: string): ContainerPort[] {
  const [numbers = '', name = 'tcp', ...rest] = key.split('/');
  const range = rest.length === 0 ? portRange(numbers) : undefined;
  if (range === undefined || range.first === 0) {
    throw invalidArgument(`${field}: invalid port specification: "${key}"`);
  }
  const protocol = protocolOf(field, key, name.toLowerCase());
  return Array.from({ length: range.last - range.first + 1 }, (_, index) => {
    const number = range.first + index;
    return { key: `${number}/${protocol}`, number, protocol };
  });
}

function protocolOf(field: string, key: string, name: string): Protocol {
  switch (name) {
    case 'tcp':
    case 'udp':
    case 'sctp':
      return name;
    default:
      throw invalidArgument(`${field}: invalid proto: "${name}" in "${key}"`);
  }
}

/** `8080`, `8000-8010`; empty or 0 = ephemeral. */
function hostPortsOf(text: string): { first: number; last: number } | undefined {
  if (text === '' || text === '0') {
    return undefined;
  }
  const range = portRange(text);
  if (range === undefined || range.first === 0) {
    throw invalidArgument(`PortBindings: invalid port specification: "${text}" in HostPort`);
  }
  return range;
}

function portRange(text: string): { first: number; last: number } | undefined {
  const match = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(text);
  const first = Number(match?.[1]);
  const last = Number(match?.[2] ?? match?.[1]);
  return match !== null && last <= 65_535 && first <= last ? { first, last } : undefined;
}

/** Nothing said, or every IPv4 address by default: every address there is. */
function hostAddressesOf(text: string, defaultHostIp: string): IpAddress[] {
  const given = text === '' ? defaultHostIp : text.replace(/^\[(.*)\]$/, '$1');
  if (text === '' && given === '0.0.0.0') {
    return [0, 0n];
  }
  const address = parseIp(given);
  if (address === undefined) {
    throw invalidArgument(`PortBindings: HostIp "${given}": not an IP address`);
  }
  return [address];
}
