import { BlockList, isIP } from 'node:net';
import { domainToASCII } from 'node:url';

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

const PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' };

/**
 * Whether a NO_PROXY list has the address, by the rules of Go's golang.org/x/net/http/httpproxy, which dockerd follows:
 * a domain means itself and all below it, `.domain` and `*.domain` only those below, an address or a CIDR block what a
 * URL names by number (names are not resolved), `:port` that port alone, `*` everything. The machine itself, by
 * `localhost` or a loopback address, never has a proxy. What is none of these means nothing. Pure.
 */
export function isExempt({ protocol, hostname, port }: URL, list: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase();
  if (host === 'localhost' || isAmong(LOOPBACK, host)) {
    return true;
  }
  const asked = { host, port: port || (PORTS[protocol] ?? '') };
  return list
    .split(',')
    .map((entry) => entry.trim().toLowerCase())
    .some((entry) => entry === '*' || (entry !== '' && covers(entry, asked)));
}

function covers(entry: string, { host, port }: { host: string; port: string }): boolean {
  const block = blockOf(entry);
  if (block !== undefined) {
    return isAmong(block, host);
  }
  const [name, ofPort] = splitPort(entry);
  if (name === '' || (ofPort !== '' && ofPort !== port)) {
    return false;
  }
  if (isIP(name) !== 0) {
    const one = new BlockList();
    one.addAddress(name, familyOf(name));
    return isAmong(one, host);
  }
  return isIP(host) === 0 && isOfDomain(host, name.replace(/^\*(?=\.)/, ''));
}

function isOfDomain(host: string, name: string): boolean {
  const isBelowOnly = name.startsWith('.');
  const plain = isBelowOnly ? name.slice(1) : name;
  // Empty for what is no domain.
  const domain = domainToASCII(plain) || plain;
  return host.endsWith(`.${domain}`) || (!isBelowOnly && host === domain);
}

/** The addresses of a CIDR block; undefined = it is none. */
function blockOf(entry: string): BlockList | undefined {
  const [address = '', length = ''] = entry.split('/', 2);
  const family = isIP(address);
  if (family === 0 || !/^\d{1,3}$/.test(length) || Number(length) > (family === 6 ? 128 : 32)) {
    return undefined;
  }
  const block = new BlockList();
  block.addSubnet(address, Number(length), familyOf(address));
  return block;
}

/** `host:port`, `[address]:port`, or either part alone; an IPv6 address may be without brackets. */
function splitPort(entry: string): [name: string, port: string] {
  if (isIP(entry) !== 0) {
    return [entry, ''];
  }
  const match = /^(?:\[(?<address>[^\]]*)\]|(?<name>[^:]*))(?::(?<port>.*))?$/.exec(entry);
  return [match?.groups?.['address'] ?? match?.groups?.['name'] ?? '', match?.groups?.['port'] ?? ''];
}

function isAmong(list: BlockList, host: string): boolean {
  return isIP(host) !== 0 && list.check(host, familyOf(host));
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}
