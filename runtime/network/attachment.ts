import type { InterfaceAddress, IpAddress } from '../../daemon/base/addresses/ip.ts';
import type { BridgeSettings } from './links/bridge.ts';
import type { ChildLink } from './netlink/links.ts';

/** The interface that a sandbox gets in a network. */
export interface SandboxInterface {
  /** Our end of the pair is named after it. */
  endpointId: string;
  /** In the sandbox: `eth0`, ... */
  name: string;
  addresses: readonly InterfaceAddress[];
  /** Of the link alone: it has these too, and no route leads to them. */
  linkLocal: readonly InterfaceAddress[];
  settings: readonly InterfaceSetting[];
  mac: Buffer;
  /** 0 = as the parent, or the overlay network, has it. */
  mtu: number;
}

/** `net.<protocol>.<group>.<interface>.<name> = value` of sysctl(8), in the sandbox. */
export interface InterfaceSetting {
  protocol: string;
  group: string;
  name: string;
  value: string;
}

/** A link of the host that others, macvlan or ipvlan, stand on. */
export interface ParentSettings {
  name: string;
  networkId: string;
  /** Made when it is missing; `host` = only the administrator makes it. */
  make: 'host' | 'dummy' | { vlan: number; of: string };
  link: ChildLink;
}

export interface BridgeAttachment {
  bridge: BridgeSettings;
  iface: SandboxInterface;
}

export interface ChildAttachment {
  parent: ParentSettings;
  iface: SandboxInterface;
}

/** How a container is in an overlay network. */
export interface OverlayAttachment {
  overlay: { networkId: string };
  iface: SandboxInterface;
}

/** How a sandbox is in a network. */
export type Attachment = BridgeAttachment | ChildAttachment | OverlayAttachment;

/** A default route: to a router, or out of the interface of an endpoint whose parent routes. */
export type DefaultRoute = { router: IpAddress } | { endpointId: string; family: 'ipv4' | 'ipv6' };

/** What a sandbox is to be: its interfaces, and the way out of it. */
export interface SandboxPlan {
  attachments: readonly Attachment[];
  /** At most one of each family; none = it reaches only what it has an interface to. */
  defaultRoutes: readonly DefaultRoute[];
}

/** A sandbox that a restart of the daemon takes over. */
export interface KeptSandbox {
  id: string;
  /** On bridges. */
  endpoints: readonly { endpointId: string; bridge: BridgeSettings }[];
  /** In overlay networks. */
  overlays?: readonly { endpointId: string; networkId: string; addresses: readonly IpAddress[] }[];
  /** Endpoints of macvlans and ipvlans; undefined = there are no such networks, and nothing to look for. */
  children: readonly string[] | undefined;
}
