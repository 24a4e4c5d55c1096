import { existsSync } from 'node:fs';
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { invalidArgument, isEngineError } from '../../daemon/base/errors.ts';

const DEFAULT_PORT = '2377';
const ANY = new Set(['0.0.0.0', '::']);

/** An interface of this host with its global addresses. */
export interface HostInterface {
  name: string;
  addresses: readonly string[];
}

export interface AddressRequest {
  ListenAddr?: string;
  AdvertiseAddr?: string;
  DataPathAddr?: string;
}

/** `HOST:PORT` each, but `dataPathAddr`, which has no port. */
export interface Addresses {
  listenAddr: string;
  advertiseAddr: string;
  dataPathAddr: string;
  /** The interface that the user named for `dataPathAddr`: its address then may change. */
  dataPathLink?: string;
}

/**
 * Where a node listens and how others reach it. Hosts are addresses or names of interfaces. Throws invalid_argument in
 * dockerd's words. With `isJoining` nothing has to be found: the managers see where the node calls from.
 */
export function chooseAddresses(
  request: AddressRequest,
  interfaces: readonly HostInterface[],
  { isJoining }: { isJoining: boolean },
): Addresses {
  const listen = parseListen(request.ListenAddr || `0.0.0.0:${DEFAULT_PORT}`, interfaces);
  const advertise = adviseOf(request.AdvertiseAddr ?? '', listen, { interfaces, isJoining });
  const { DataPathAddr: dataPath } = request;
  const dataPathAddr = dataPath ? hostOf(dataPath, interfaces, BAD.dataPath, { isAnyAllowed: false }) : '';
  const advertiseAddr = advertise && joinAddr(advertise);
  return {
    listenAddr: listenFor(joinAddr(listen), advertiseAddr),
    advertiseAddr,
    dataPathAddr,
    ...(dataPath && dataPath !== dataPathAddr ? { dataPathLink: dataPath } : {}),
  };
}

/** Who is called at an address of IPv6 must not listen at all those of IPv4 only, which is what clients ask for. */
export function listenFor(listenAddr: string, advertiseAddr: string): string {
  const { host, port } = splitAddr(listenAddr);
  const isDeaf = host === '0.0.0.0' && isIP(splitAddr(advertiseAddr).host) === 6;
  return isDeaf ? joinAddr({ host: '::', port }) : listenAddr;
}

/** The address of an interface now; undefined where there is none, or no single one. */
export function addressOfLink(name: string, interfaces: readonly HostInterface[]): string | undefined {
  const link = interfaces.find((each) => each.name === name);
  try {
    return link === undefined ? undefined : addressOf(link);
  } catch (error) {
    if (isEngineError(error, 'invalid_argument')) {
      return undefined;
    }
    throw error;
  }
}

export function joinAddr({ host, port }: HostPort): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

export function isAnyAddress(host: string): boolean {
  return ANY.has(host);
}

/** Of an address that `chooseAddresses` made. */
export function splitAddr(addr: string): HostPort {
  const at = addr.lastIndexOf(':');
  return { host: addr.slice(0, at).replaceAll(/[[\]]/g, ''), port: addr.slice(at + 1) };
}

/** Interfaces that an address to advertise may be of: no loopback, no bridges and what hangs on these. */
export function hostInterfaces(): HostInterface[] {
  return Object.entries(networkInterfaces())
    .filter(
      ([name]) =>
        !existsSync(`/sys/class/net/${name}/bridge`) && !existsSync(`/sys/class/net/${name}/master`),
    )
    .map(([name, addresses = []]) => ({
      name,
      addresses: addresses
        .filter(({ internal, scopeid, address }) => !internal && !scopeid && !address.startsWith('169.254.'))
        .map(({ address }) => address),
    }));
}

/** What this host's interfaces are in, `ADDRESS/LENGTH`, but for loopback and link-local ones. */
export function hostSubnets(): string[] {
  return Object.values(networkInterfaces()).flatMap((addresses = []) =>
    addresses.flatMap(({ internal, scopeid, cidr }) =>
      internal || scopeid || cidr === null || cidr.startsWith('169.254.') ? [] : [cidr],
    ),
  );
}

interface HostPort {
  host: string;
  port: string;
}

const BAD = {
  listen: 'listen address must be an IP address or network interface (with optional port number)',
  advertise:
    'advertise address must be a non-zero IP address or network interface (with optional port number)',
  dataPath: 'data path address must be a non-zero IP address or network interface (without a port number)',
} as const;

function parseListen(text: string, interfaces: readonly HostInterface[]): HostPort {
  const { host, port } = split(text, DEFAULT_PORT);
  return { host: hostOf(host, interfaces, BAD.listen, { isAnyAllowed: true }), port };
}

function adviseOf(
  text: string,
  listen: HostPort,
  { interfaces, isJoining }: { interfaces: readonly HostInterface[]; isJoining: boolean },
): HostPort | '' {
  if (text !== '') {
    const { host, port } = split(text, listen.port);
    return { host: hostOf(host, interfaces, BAD.advertise, { isAnyAllowed: false }), port };
  }
  if (!ANY.has(listen.host)) {
    return listen;
  }
  return isJoining ? '' : { host: systemAddress(interfaces), port: listen.port };
}

/** A name or IPv4 with or without port; IPv6 with a port only in brackets. */
function split(text: string, defaultPort: string): HostPort {
  const [, six, other, port] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = six ?? other ?? (isIP(text) === 6 ? text : undefined);
  if (host === undefined || Number(port ?? 1) > 65_535) {
    throw invalidArgument(`could not parse address ${text}`);
  }
  return { host, port: port ?? defaultPort };
}

function hostOf(
  host: string,
  interfaces: readonly HostInterface[],
  refusal: string,
  { isAnyAllowed }: { isAnyAllowed: boolean },
): string {
  const found = interfaces.find(({ name }) => name === host);
  if (found !== undefined) {
    return addressOf(found);
  }
  if (isIP(host) === 0 || (!isAnyAllowed && ANY.has(host))) {
    throw invalidArgument(refusal);
  }
  return host;
}

/** The only address of an interface, IPv4 before IPv6. */
function addressOf({ name, addresses }: HostInterface): string {
  for (const family of [4, 6]) {
    const [one, two] = addresses.filter((address) => isIP(address) === family);
    if (two !== undefined) {
      throw invalidArgument(`interface ${name} has more than one IPv${family} address (${one} and ${two})`);
    }
    if (one !== undefined) {
      return one;
    }
  }
  throw invalidArgument(`interface ${name} has no usable IPv4 or IPv6 address`);
}

/** The only address of this host. */
function systemAddress(interfaces: readonly HostInterface[]): string {
  const cannot = 'could not choose an IP address to advertise since this system has multiple addresses on';
  for (const family of [4, 6]) {
    const found = interfaces.flatMap(({ name, addresses }) =>
      addresses.filter((address) => isIP(address) === family).map((address) => ({ name, address })),
    );
    const [one, two] = found;
    if (one !== undefined && two !== undefined) {
      throw invalidArgument(
        one.name === two.name
          ? `${cannot} interface ${one.name} (${one.address} and ${two.address})`
          : `${cannot} different interfaces (${one.address} on ${one.name} and ${two.address} on ${two.name})`,
      );
    }
    if (one !== undefined) {
      return one.address;
    }
  }
  throw invalidArgument("could not find the system's IP address");
}
