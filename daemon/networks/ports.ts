/**
 * What networks need of the kernel. Satisfied by `KernelNetwork` of runtime/network; checked in
 * daemon/boot/compose.ts. IPv4 addresses are unsigned 32-bit numbers (daemon/base/ipv4.ts).
 */
import type { Subnet } from '../base/ipv4.ts';

export type Protocol = 'tcp' | 'udp';

export interface HostPort {
  protocol: Protocol;
  /** 0 = every address of the host. */
  hostAddress: number;
  hostPort: number;
}

export interface PublishedPort extends HostPort {
  address: number;
  containerPort: number;
}

export interface BridgeSettings {
  name: string;
  gateway: number;
  prefixLength: number;
  mtu: number;
}

export interface SandboxInterface {
  endpointId: string;
  address: number;
  prefixLength: number;
  gateway: number;
  mac: Buffer;
  mtu: number;
}

export interface NetworkKernel {
  /** IPv4 networks in use on the host, but for those of the interface `exceptLink`. */
  hostSubnets(exceptLink: string): Subnet[];
  /** Makes or mends the bridge and the firewall's table, which then publishes exactly `ports`. Idempotent. */
  prepare(bridge: BridgeSettings, ports: readonly PublishedPort[]): void;
  /** A namespace with nothing but loopback; returns its path. */
  openIsolated(id: string): string;
  /** A namespace with an interface in the bridge; returns its path. */
  openBridged(id: string, bridge: BridgeSettings, sandbox: SandboxInterface): string;
  /** Idempotent. `endpointId` undefined = without an interface. */
  close(id: string, endpointId: string | undefined): void;
  /** Holds a host port; throws an error with code EADDRINUSE or EADDRNOTAVAIL. */
  reserve(port: HostPort): void;
  release(port: HostPort): void;
  publish(ports: readonly PublishedPort[]): void;
  unpublish(ports: readonly PublishedPort[]): void;
  /** Removes the namespaces and interfaces of all sandboxes but these, and takes these over. */
  sweep(bridge: BridgeSettings, live: readonly { id: string; endpointId: string | undefined }[]): void;
}
