import type { InterfaceAddress, IpAddress } from '../../daemon/base/ip.ts';
import type { BridgeSettings } from './bridge.ts';

/** The interface that a sandbox gets in a network. */
export interface SandboxInterface {
  /** Our end of the pair is named after it. */
  endpointId: string;
  /** In the sandbox: `eth0`, ... */
  name: string;
  addresses: readonly InterfaceAddress[];
  mac: Buffer;
  mtu: number;
}

/** How a sandbox is in a network. */
export interface Attachment {
  bridge: BridgeSettings;
  iface: SandboxInterface;
}

/** What a sandbox is to be: its interfaces, and who routes for it. */
export interface SandboxPlan {
  attachments: readonly Attachment[];
  /** At most one of each family; none = it reaches only what it has an interface to. */
  gateways: readonly IpAddress[];
}
