import { BlockList, isIP } from 'node:net';

/** How registries are reached: settings of the daemon. */
export interface RegistrySettings {
  /** `host`, `host:port` or CIDR blocks that may be reached without verified TLS, or without any. */
  insecure: readonly string[];
  /** Addresses of mirrors of Docker Hub, asked before it. */
  mirrors: readonly string[];
}

/** A way to a registry; tried in order. */
export interface RegistryEndpoint {
  /** `https://registry-1.docker.io` */
  base: string;
  /** Whether its certificate must be right. */
  verified: boolean;
}

const HUB_DOMAINS = new Set(['docker.io', 'index.docker.io', 'registry-1.docker.io']);
const HUB = 'https://registry-1.docker.io';

/**
 * The ways to the registry of an image's domain (`registry.example.com:5000`). `addresses` are those its name resolves
 * to. Pure. Registries on loopback, and those the administrator named, may be without TLS (moby registry/config.go).
 */
export function endpointsOf(
  domain: string,
  addresses: readonly string[],
  settings: RegistrySettings,
): RegistryEndpoint[] {
  if (HUB_DOMAINS.has(domain)) {
    return [{ base: HUB, verified: true }];
  }
  if (!isInsecure(domain, addresses, settings)) {
    return [{ base: `https://${domain}`, verified: true }];
  }
  return [
    { base: `https://${domain}`, verified: false },
    { base: `http://${domain}`, verified: false },
  ];
}

/** Where Docker Hub is, when `domain` is a name of it: it is reached the same way whatever that resolves to. Pure. */
export function hubBase(domain: string): string | undefined {
  return HUB_DOMAINS.has(domain) ? HUB : undefined;
}

/** The mirrors of a domain, in the order of the configuration. Only Docker Hub has any. Pure. */
export function mirrorsOf(domain: string, { mirrors }: RegistrySettings): readonly string[] {
  return HUB_DOMAINS.has(domain) ? mirrors : [];
}

function isInsecure(domain: string, addresses: readonly string[], { insecure }: RegistrySettings): boolean {
  const names = insecure.map((name) => name.replace(/^https?:\/\//, '').replace(/\/$/, ''));
  if (names.includes(domain)) {
    return true;
  }
  const blocks = blocksOf(['127.0.0.0/8', '::1/128', ...names]);
  return addresses.some((address) => blocks.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4'));
}

function blocksOf(names: readonly string[]): BlockList {
  const blocks = new BlockList();
  for (const name of names) {
    const [address = '', length] = name.split('/');
    const family = isIP(address);
    if (family !== 0 && length !== undefined) {
      blocks.addSubnet(address, Number(length), family === 6 ? 'ipv6' : 'ipv4');
    }
  }
  return blocks;
}

/** The host of a domain, without its port. */
export function hostOf(domain: string): string {
  return domain.startsWith('[') ? domain.slice(1, domain.indexOf(']')) : domain.replace(/:\d+$/, '');
}
