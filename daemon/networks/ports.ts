/**
 * What networks need of the kernel. Satisfied by `KernelNetwork` of runtime/network; checked in
 * daemon/boot/compose.ts.
 */
import type { NameListener } from './dns/container-names.ts';
import type { UpstreamSockets } from './dns/upstream.ts';
import type { AnySubnet, InterfaceAddress, IpAddress } from '../base/addresses/ip.ts';

export type Protocol = 'tcp' | 'udp' | 'sctp';

export interface HostPort {
  protocol: Protocol;
  /** 0 or 0n = every address of the host of that family. */
  hostAddress: IpAddress;
  hostPort: number;
}

export interface PublishedPort extends HostPort {
  /** Of the container, of the same family. */
  address: IpAddress;
  containerPort: number;
}

export interface BridgeSettings {
  name: string;
  /** Undefined for the default bridge. */
  networkId?: string;
  /** The administrator's, who may have given it more addresses. */
  isForeign?: boolean;
  addresses: readonly InterfaceAddress[];
  mtu: number;
  internal: boolean;
  icc: boolean;
  masquerade: boolean;
  /** With which address of the host they are seen then; at most one of each family. */
  sources?: readonly IpAddress[];
  /** Its IPv4 address is that of another router: the bridge has none. */
  inhibitIpv4?: boolean;
  /** What a bridge of the administrator had before: it keeps that, whoever's addresses these are now. */
  found?: readonly InterfaceAddress[];
}

export interface SandboxInterface {
  endpointId: string;
  /** In the sandbox: `eth0`, ... */
  name: string;
  addresses: readonly InterfaceAddress[];
  /** Of the link alone: it has these too, and nobody routes to them. */
  linkLocal: readonly InterfaceAddress[];
  settings: readonly InterfaceSetting[];
  mac: Buffer;
  mtu: number;
}

/** `net.<protocol>.<group>.<interface>.<name> = value` of sysctl(8), in the sandbox. */
export interface InterfaceSetting {
  protocol: string;
  group: string;
  name: string;
  value: string;
}

/** The kind of interface that stands on a link of the host. */
export type ChildLink =
  | { kind: 'macvlan'; mode: 'private' | 'vepa' | 'bridge' | 'passthru' }
  | { kind: 'ipvlan'; mode: 'l2' | 'l3' | 'l3s'; flag: 'bridge' | 'private' | 'vepa' };

/** A link of the host that others stand on. */
export interface ParentSettings {
  name: string;
  networkId: string;
  /** Made when it is missing; `host` = only the administrator makes it. */
  make: 'host' | 'dummy' | { vlan: number; of: string };
  link: ChildLink;
}

/** How a sandbox is in a network. */
export type Attachment = { iface: SandboxInterface } & (
  | { bridge: BridgeSettings }
  | { parent: ParentSettings }
);

/** A default route: to a router, or out of the interface of an endpoint whose parent routes. */
export type DefaultRoute = { router: IpAddress } | { endpointId: string; family: 'ipv4' | 'ipv6' };

export interface SandboxPlan {
  attachments: readonly Attachment[];
  /** At most one of each family. */
  defaultRoutes: readonly DefaultRoute[];
}

/** A sandbox that a restart takes over. */
export interface KeptSandbox {
  id: string;
  /** On bridges. */
  endpoints: readonly { endpointId: string; bridge: BridgeSettings }[];
  /** Ids of those on parents; undefined = there are no such networks. */
  children: readonly string[] | undefined;
}

export interface NetworkKernel {
  /** Name servers of sandboxes, and their questions to others. */
  readonly names: NameListener & UpstreamSockets;
  /** Networks in use on the host, but for those of the interfaces `exceptLinks`. */
  hostSubnets(exceptLinks: readonly string[]): AnySubnet[];
  /** Addresses that routers know of a link, in the order in which it got them; none when there is no such link. */
  linkAddresses(name: string): InterfaceAddress[];
  /** Makes or mends these bridges and the firewall's tables, which then publish exactly `ports`. Idempotent. */
  prepare(bridges: readonly BridgeSettings[], ports: readonly PublishedPort[]): void;
  addBridge(bridge: BridgeSettings): Promise<void>;
  /** Idempotent. */
  removeBridge(bridge: BridgeSettings): Promise<void>;
  /** Finds or makes it. Leaves nothing when it throws. */
  addParent(parent: ParentSettings): void;
  /** Removes it if it was made here. Idempotent. */
  removeParent(parent: ParentSettings): Promise<void>;
  /** A namespace with these interfaces and a loopback; returns its path. Leaves nothing when it throws. */
  open(id: string, plan: SandboxPlan): string;
  /** Idempotent. */
  close(id: string, endpointIds: readonly string[]): void;
  /** One more interface for an open sandbox. */
  attachInterface(id: string, attachment: Attachment): Promise<void>;
  /** Takes it from an open sandbox. Idempotent; the interface is gone when the promise resolves. */
  detachInterface(id: string, endpointId: string): Promise<void>;
  /** From here on an open sandbox has these ways out, or none. */
  route(id: string, defaultRoutes: readonly DefaultRoute[]): void;
  /** Names of the interfaces in an open sandbox. */
  interfaceNames(id: string): string[];
  /** Holds a host port; throws an error with code EADDRINUSE or EADDRNOTAVAIL. */
  reserve(port: HostPort): void;
  release(port: HostPort): void;
  /** Connections from and to addresses that nobody has any more are forgotten, behind this. */
  forgetFlows(addresses: readonly IpAddress[]): void;
  publish(ports: readonly PublishedPort[]): void;
  unpublish(ports: readonly PublishedPort[]): void;
  /**
   * Removes the namespaces, interfaces, bridges and parents of all but these, and takes these over. `networkIds`: of
   * all networks that there are.
   */
  sweep(
    networkIds: readonly string[],
    bridges: readonly BridgeSettings[],
    live: readonly KeptSandbox[],
  ): Promise<void>;
}
