import { createHash } from 'node:crypto';
import type { IpamConfig } from '../../../api/types/system.ts';
import { freeSubnet, freeSubnet6, uniqueLocalSupply } from '../../../daemon/base/addresses/free-subnet.ts';
import {
  firstHost,
  formatIp,
  isIpv4,
  isSubnet4,
  parseAnyCidr,
  parseIp,
} from '../../../daemon/base/addresses/ip.ts';
import type { AnySubnet } from '../../../daemon/base/addresses/ip.ts';
import { parseCidr, type Subnet } from '../../../daemon/base/addresses/ipv4.ts';
import { configOf, refuseOverlap } from '../../../daemon/base/addresses/subnet-config.ts';
import { EngineError, isEngineError } from '../../../daemon/base/errors.ts';
import type { ClusterRecord } from '../../objects/cluster.ts';
import type { NetworkRecord } from '../../objects/network.ts';
import { rpcError } from '../base/rpc-error.ts';
import { VNI } from './options.ts';
import type { NetworkWish } from './wish.ts';

/** What subnets and VNIs are chosen on. */
export interface Taken {
  cluster: Pick<ClusterRecord, 'id' | 'addressPools' | 'subnetSize'>;
  networks: Iterable<NetworkRecord>;
  /** Of nodes, as hosts reach each other: containers of a network that has such an address would not reach them. */
  hosts: readonly string[];
  /** Of this manager's own host, `ADDRESS/LENGTH`: nodes of the swarm are in them too, as a rule. */
  hostSubnets: readonly string[];
  /** The VNI that was chosen last. */
  lastVni: number;
}

/**
 * The subnets of a network, each with its gateway: those that were asked for, and free ones of the swarm's pools.
 * Throws forbidden where another network of the swarm has one that overlaps, resource_exhausted where no pool has one
 * left. Pure.
 */
export function chooseSubnets(
  { config, ipv6 }: Pick<NetworkWish, 'config' | 'ipv6'>,
  { cluster, networks, hosts, hostSubnets }: Taken,
): IpamConfig[] {
  const others = [...networks].flatMap(({ name, overlay }) =>
    subnetsOf(overlay?.ipam.config ?? []).map((subnet) => ({ name, subnet })),
  );
  const asked = subnetsOf(config);
  asked.forEach((subnet) => refuseOverlap(subnet, others));
  const taken = [...others.map(({ subnet }) => subnet), ...asked];
  const own = hostSubnets.flatMap((text) => parseAnyCidr(text) ?? []);
  const addresses = [...hosts.flatMap((host) => parseIp(host) ?? []), ...own.map(({ address }) => address)];
  const chosen = config.map(withGateway);
  if (!asked.some(isSubnet4)) {
    const supplies = cluster.addressPools.flatMap((pool) => {
      const base = parseCidr(pool)?.subnet;
      return base === undefined ? [] : [{ base, size: cluster.subnetSize }];
    });
    const used = [
      ...taken.filter(isSubnet4),
      ...addresses.filter(isIpv4).map((base) => ({ base, prefixLength: 32 })),
    ];
    const near = own.flatMap(({ subnet }) => (isSubnet4(subnet) ? [subnet] : []));
    chosen.unshift(configOf(freeSubnetBeside(supplies, used, near)));
  }
  if (ipv6 && asked.every(isSubnet4)) {
    const used = taken.flatMap((subnet) => (isSubnet4(subnet) ? [] : [subnet]));
    const globalId = createHash('sha256').update(cluster.id).digest('hex');
    chosen.push(configOf(freeSubnet6([uniqueLocalSupply(globalId)], used)));
  }
  return chosen;
}

/**
 * The VNI that was asked for, or the next after the one that was chosen last: that of a network that was removed comes
 * last, so that a node that has not heard of the removal is in nobody else's. Throws forbidden for one that is taken.
 * Pure.
 */
export function chooseVni(
  { vni, ingress }: Pick<NetworkWish, 'vni' | 'ingress'>,
  { networks, lastVni }: Pick<Taken, 'networks' | 'lastVni'>,
): number {
  const used = new Map([...networks].flatMap(({ name, overlay }) => (overlay ? [[overlay.vni, name]] : [])));
  if (vni !== undefined) {
    const other = used.get(vni);
    if (other !== undefined) {
      throw new EngineError('forbidden', `vxlan id ${vni} is already in use by network ${other}`);
    }
    return vni;
  }
  if (ingress && !used.has(VNI.ingress)) {
    return VNI.ingress;
  }
  const count = VNI.max - VNI.user + 1;
  const first = Math.max(lastVni + 1, VNI.user) - VNI.user;
  for (let offset = 0; offset < count; offset += 1) {
    const candidate = VNI.user + ((first + offset) % count);
    if (!used.has(candidate)) {
      return candidate;
    }
  }
  throw rpcError('Unknown', 'no VXLAN id is free');
}

/** Those of a network's configuration. Pure. */
export function subnetsOf(config: readonly IpamConfig[]): AnySubnet[] {
  return config.flatMap(({ Subnet = '' }) => parseAnyCidr(Subnet)?.subnet ?? []);
}

/** One that overlaps none of `near`, or where all of the pools are within these, none of `used` at least. */
function freeSubnetBeside(
  supplies: Parameters<typeof freeSubnet>[0],
  used: readonly Subnet[],
  near: readonly Subnet[],
): Subnet {
  try {
    return freeSubnet(supplies, [...used, ...near]);
  } catch (error) {
    if (near.length > 0 && isEngineError(error, 'resource_exhausted')) {
      return freeSubnet(supplies, used);
    }
    throw error;
  }
}

function withGateway(config: IpamConfig): IpamConfig {
  const [subnet] = subnetsOf([config]);
  return config.Gateway || subnet === undefined
    ? config
    : { ...config, Gateway: formatIp(firstHost(subnet)) };
}
