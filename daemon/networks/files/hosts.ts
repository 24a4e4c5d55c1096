import { isIP } from 'node:net';
import { invalidArgument } from '../../base/errors.ts';

/** Contents of a container's /etc/hosts. Pure. */
export interface HostsFile {
  /** Of the container. */
  addresses: readonly string[];
  hostname: string;
  domainname: string;
  extraHosts: readonly ExtraHost[];
}

export interface ExtraHost {
  name: string;
  address: string;
}

const LOCAL_LINES = [
  '127.0.0.1\tlocalhost',
  '::1\tlocalhost ip6-localhost ip6-loopback',
  'fe00::0\tip6-localnet',
  'ff00::0\tip6-mcastprefix',
  'ff02::1\tip6-allnodes',
  'ff02::2\tip6-allrouters',
];

/** Lines in dockerd's order: local names, extra hosts, then the container itself. */
export function hostsFile(file: HostsFile): string {
  return lines([
    ...LOCAL_LINES,
    ...extraLines(file.extraHosts),
    ...file.addresses.map((address) => `${address}\t${ownNames(file.hostname, file.domainname)}`),
  ]);
}

/** For a command of a build, in whatever network: as BuildKit writes it (executor/oci/hosts.go). */
export function hostsFileOfCommand({
  hostname,
  extraHosts,
}: Pick<HostsFile, 'hostname' | 'extraHosts'>): string {
  return lines([
    `127.0.0.1\tlocalhost ${hostname}`,
    '::1\tlocalhost ip6-localhost ip6-loopback',
    ...extraLines(extraHosts),
  ]);
}

/** For a container in the host's own network: the host's file, and the extra hosts. */
export function hostsFileOfHost(text: string, extraHosts: readonly ExtraHost[]): string {
  return `${text.replace(/\n*$/, '\n')}${lines(extraLines(extraHosts))}`;
}

/** What stands for the address of the host as containers reach it. */
const HOST_GATEWAY = 'host-gateway';

/** Puts the host's address where `host-gateway` was asked for; asks for it only then. */
export function resolveHostGateway(extraHosts: readonly ExtraHost[], hostGateway: () => string): ExtraHost[] {
  return extraHosts.map((each) =>
    each.address === HOST_GATEWAY ? { ...each, address: hostGateway() } : each,
  );
}

/**
 * `name:address` or `name=address`; the address may be `host-gateway`. Throws invalid_argument naming the
 * value.
 */
export function parseExtraHosts(values: readonly string[]): ExtraHost[] {
  return values.map((value) => {
    const [, name = '', given = ''] = /^([^:=]*)[:=](.*)$/s.exec(value) ?? [];
    if (!/^[^\s#]+$/.test(name)) {
      throw invalidArgument(`bad format for add-host: "${value}"`);
    }
    const address = given.replace(/^\[(.*)\]$/, '$1');
    if (address !== HOST_GATEWAY && isIP(address) === 0) {
      throw invalidArgument(`invalid IP address in add-host: "${given}"`);
    }
    return { name, address };
  });
}

/** `web.example.org web`: the full name first, then its first label. */
function ownNames(hostname: string, domainname: string): string {
  const full = domainname === '' ? hostname : `${hostname}.${domainname}`;
  const [label = full] = full.split('.');
  return full === label ? full : `${full} ${label}`;
}

function extraLines(extraHosts: readonly ExtraHost[]): string[] {
  return extraHosts.map(({ name, address }) => `${address}\t${name}`);
}

function lines(all: readonly string[]): string {
  return all.map((line) => `${line}\n`).join('');
}
