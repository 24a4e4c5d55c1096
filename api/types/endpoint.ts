/** A container's place in a network: wire shapes at API 1.55. Types only. */

import type { StringMap } from './maps.ts';

export interface EndpointIpamConfig {
  IPv4Address?: string;
  IPv6Address?: string;
  LinkLocalIPs?: string[] | null;
}

export interface EndpointSettings {
  IPAMConfig?: EndpointIpamConfig | null;
  Links?: string[] | null;
  Aliases?: string[] | null;
  MacAddress?: string;
  DriverOpts?: StringMap | null;
  NetworkID?: string;
  EndpointID?: string;
  Gateway?: string;
  IPAddress?: string;
  IPPrefixLen?: number;
  IPv6Gateway?: string;
  GlobalIPv6Address?: string;
  GlobalIPv6PrefixLen?: number;
  DNSNames?: string[] | null;
  /** Highest = the container's default route. Of API 1.48; taken from any version. */
  GwPriority?: number;
}

export interface NetworkingConfig {
  EndpointsConfig?: Record<string, EndpointSettings | null> | null;
}
