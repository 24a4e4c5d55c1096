/**
 * What networks need of the kernel. Satisfied by `KernelNetwork` of runtime/network; checked in
 * daemon/boot/compose.ts.
 */
import type {
  Attachment,
  DefaultRoute,
  KeptSandbox,
  ParentSettings,
  SandboxPlan,
} from '../../runtime/network/attachment.ts';
import type { PublishedPort } from '../../runtime/network/firewall/ruleset.ts';
import type { BridgeSettings } from '../../runtime/network/links/bridge.ts';
import type {
  NameExchange,
  NameHandler,
  NameProtocol,
  Upstream,
} from '../../runtime/network/dns/dns-sockets.ts';
import type { HostPort } from '../../runtime/network/port-reservations.ts';
import type { AnySubnet, InterfaceAddress, IpAddress } from '../base/addresses/ip.ts';

/** The engine's name server in a sandbox, at 127.0.0.11. */
export interface NameListener {
  /** Calls back with each question, until it is disposed. */
  listen(sandboxId: string, handle: NameHandler): Disposable;
}

/** Questions to other name servers. */
export interface UpstreamSockets {
  /** `answered` is called with each message from the server. Throws when there is no socket or no route. */
  exchange(
    upstream: Upstream,
    protocol: NameProtocol,
    handlers: { answered: (message: Buffer) => void; failed: () => void },
  ): NameExchange;
}

export interface NetworkKernel {
  /** Name servers of sandboxes, and their questions to others. */
  readonly names: NameListener & UpstreamSockets;
  /** Networks in use on the host, but for those of the interfaces `exceptLinks`. */
  hostSubnets(exceptLinks: readonly string[]): AnySubnet[];
  /**
   * Addresses of a link but those of link scope, in the order in which it got them; none when there is no such link.
   */
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
  /** Sets the default routes of an open sandbox; an empty list removes them. */
  route(id: string, defaultRoutes: readonly DefaultRoute[]): void;
  /** Names of the interfaces in an open sandbox. */
  interfaceNames(id: string): string[];
  /** Holds a host port; throws an error with code EADDRINUSE or EADDRNOTAVAIL. */
  reserve(port: HostPort): void;
  release(port: HostPort): void;
  /** Deletes conntrack entries of addresses that are no longer in use, in the background. */
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
