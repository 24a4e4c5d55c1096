import { isIP } from 'node:net';
import { invalidArgument } from '../../base/errors.ts';
import { parseIpv6 } from '../../base/addresses/ipv6.ts';

/** Contents of a container's /etc/resolv.conf (resolv.conf(5)). Pure. */
export interface ResolverSettings {
  nameservers: string[];
  search: string[];
  options: string[];
}

/** The name server of containers in user-defined networks. */
export const EMBEDDED_SERVER = '127.0.0.11';

/** Used when the host names no server that a container can reach, as dockerd does. */
export const PUBLIC_NAMESERVERS = ['8.8.8.8', '8.8.4.4'];

export function parseResolvConf(text: string): ResolverSettings {
  const settings: ResolverSettings = { nameservers: [], search: [], options: [] };
  for (const line of text.split('\n')) {
    const [keyword, ...values] = line
      .replace(/[#;].*$/, '')
      .trim()
      .split(/\s+/);
    if (keyword === 'nameserver' && values[0] !== undefined) {
      settings.nameservers.push(values[0]);
    } else if (keyword === 'search' || keyword === 'domain') {
      settings.search = values;
    } else if (keyword === 'options') {
      settings.options = values;
    }
  }
  return settings;
}

export function formatResolvConf(settings: ResolverSettings): string {
  const lines = [
    ...(settings.search.length > 0 ? [`search ${settings.search.join(' ')}`] : []),
    ...settings.nameservers.map((server) => `nameserver ${server}`),
    ...(settings.options.length > 0 ? [`options ${settings.options.join(' ')}`] : []),
  ];
  return lines.map((line) => `${line}\n`).join('');
}

/**
 * What a container in a network of its own uses: each part that was asked for replaces the host's. Of the
 * host's servers those on its loopback and its links are out of reach, and those with IPv6 addresses too where the
 * container has none.
 */
export function containerResolver(
  host: ResolverSettings,
  asked: ResolverSettings,
  { ipv6 }: { ipv6: boolean },
): ResolverSettings {
  const reachable = host.nameservers.filter((server) =>
    isIP(server) === 4 ? !server.startsWith('127.') : ipv6 && isRouted(server),
  );
  const inherited = reachable.length > 0 ? reachable : PUBLIC_NAMESERVERS;
  return override({ ...host, nameservers: inherited }, asked);
}

/** Not `::1`, nor `fe80::1%eth0`. */
function isRouted(server: string): boolean {
  const address = parseIpv6(server);
  return address !== undefined && address !== 1n && address >> 118n !== 0xfe80n >> 6n;
}

/** What a container in a user-defined network uses: the engine, which asks the servers that were asked for. */
export function embeddedResolver(host: ResolverSettings, asked: ResolverSettings): ResolverSettings {
  const { search, options } = override({ ...host, nameservers: [] }, { ...asked, nameservers: [] });
  return {
    nameservers: [EMBEDDED_SERVER],
    search,
    // Names of containers have no dots: they are asked for as they are first.
    options: options.some((option) => option.startsWith('ndots:')) ? options : [...options, 'ndots:0'],
  };
}

/** What a container in the host's own network uses: the host's servers are reachable as they are. */
export function hostResolver(host: ResolverSettings, asked: ResolverSettings): ResolverSettings {
  return override(host, asked);
}

/** A container's settings, and the daemon's defaults where it has none. Throws invalid_argument naming the value. */
export function askedResolver(asked: ResolverSettings, defaults: ResolverSettings): ResolverSettings {
  for (const server of asked.nameservers) {
    if (isIP(server) === 0) {
      throw invalidArgument(`bad parameter: invalid DNS server "${server}": not an IP address`);
    }
  }
  for (const [field, values] of [
    ['DnsSearch', asked.search],
    ['DnsOptions', asked.options],
  ] as const) {
    const bad = values.find((value) => value === '' || /[\s#;]/.test(value));
    if (bad !== undefined) {
      throw invalidArgument(`bad parameter: ${field} "${bad}": expected one word`);
    }
  }
  return {
    nameservers: asked.nameservers.length > 0 ? asked.nameservers : defaults.nameservers,
    search: asked.search.length > 0 ? asked.search : defaults.search,
    options: asked.options.length > 0 ? asked.options : defaults.options,
  };
}

function override(base: ResolverSettings, asked: ResolverSettings): ResolverSettings {
  const search = asked.search.length > 0 ? asked.search : base.search;
  return {
    nameservers: asked.nameservers.length > 0 ? asked.nameservers : base.nameservers,
    // A single dot asks for no search list at all.
    search: search.length === 1 && search[0] === '.' ? [] : search,
    options: asked.options.length > 0 ? asked.options : base.options,
  };
}
