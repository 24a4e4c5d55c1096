/** A network of the swarm as tasks tell it: `swarm.Network` of the wire at API 1.55. Types only. */

import type { StringMap } from '../maps.ts';
import type { ObjectHead } from './meta.ts';

interface Driver {
  Name?: string;
  Options?: StringMap;
}

interface IpamOptions {
  Driver: Driver;
  Configs?: { Subnet?: string; Range?: string; Gateway?: string }[];
}

export interface NetworkObject extends ObjectHead {
  Spec: {
    Name: string;
    Labels: StringMap;
    DriverConfiguration: Driver;
    IPv6Enabled?: true;
    Internal?: true;
    Attachable?: true;
    Ingress?: true;
    IPAMOptions: IpamOptions;
    Scope: string;
  };
  DriverState: Driver;
  IPAMOptions: IpamOptions;
}

/** `Addresses` with the length of their subnet. */
export interface NetworkAttachment {
  Network: NetworkObject;
  Addresses: string[];
}
