import type { InterfaceAddress, IpAddress } from '../../../daemon/base/addresses/ip.ts';

/** An overlay network on this host: a network namespace of its own with a bridge and a VXLAN device. */
export interface OverlaySettings {
  networkId: string;
  /** 24 bits. */
  vni: number;
  /** UDP port between nodes. */
  port: number;
  /** This host's address for it. */
  local: IpAddress;
  /** Of containers' interfaces. 0 = what the link with `local` leaves. */
  mtu: number;
  /** Subnets of the network, with the address of its gateway. */
  gateways: readonly InterfaceAddress[];
  /** Its packets leave this host as ESP, or not at all. */
  encrypted: boolean;
  /** Of the bridge, by which other hosts find this one in the network; undefined = nobody is to find it. */
  mac?: Buffer;
}

/** What has an address in an overlay network on another host. */
export interface OverlayPeer {
  mac: Buffer;
  addresses: readonly IpAddress[];
  /** That host's address. */
  host: IpAddress;
}

/** A virtual address, and what answers at it. Without backends connections are refused at once. */
export interface BalancedAddress {
  vip: IpAddress;
  backends: readonly IpAddress[];
}

/** The ingress network on this host. */
export interface IngressSettings extends Omit<OverlaySettings, 'mac'> {
  /** Of this host in the network: what comes from outside reaches tasks from here. */
  nodeAddresses: readonly InterfaceAddress[];
}

/** A port that every host of the swarm answers at. */
export interface MeshPort {
  protocol: 'tcp' | 'udp' | 'sctp';
  published: number;
  target: number;
  /** Addresses in the ingress network. */
  backends: readonly IpAddress[];
  /** Those of them that take all calls to this host, with the clients' own addresses; none = all of them take calls. */
  local?: readonly IpAddress[];
}

/** What of overlay traffic may pass this host's interfaces. */
export interface OverlayGuard {
  /** This host's address for it. */
  local: IpAddress;
  /** UDP port between nodes. */
  port: number;
  networks: readonly GuardedNetwork[];
}

export interface GuardedNetwork {
  vni: number;
  encrypted: boolean;
  /** Hosts that have something in it: nothing is taken from others. */
  hosts: readonly IpAddress[];
}

/** How this host and others read what they send each other in encrypted networks. */
export interface OverlayEncryption {
  local: IpAddress;
  port: number;
  /** undefined = not known: what the kernel has stays. */
  paths: readonly EncryptedPath[] | undefined;
}

/** One direction between this host and another. To each host there is one; from each there is one for each key. */
export interface EncryptedPath {
  from: IpAddress;
  to: IpAddress;
  /** Security parameters index: no other state with this `to` has it. */
  spi: number;
  /** 20 bytes: AES-128 and the salt of RFC 4106. No other direction has it. */
  key: Buffer;
}
