import type { MetaTable, NetworkTable } from '../../storage/database/rows.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { Journal } from '../events/journal-types.ts';
import { BridgeDriver } from './drivers/bridge-driver.ts';
import { DefaultNetwork } from './drivers/default-network.ts';
import { ContainerNames } from './dns/container-names.ts';
import { NameServer } from './dns/name-server.ts';
import type { NetworkDriver } from './drivers/driver.ts';
import type { HostFiles } from './files/host-files.ts';
import { Networks } from './networks.ts';
import { ParentDriver } from './drivers/parent-driver.ts';
import type { NetworkOptions } from './options.ts';
import type { NetworkKernel } from './ports.ts';
import { NetworkIndex } from './network-index.ts';
import { PortAllocator } from './sandbox/port-allocator.ts';
import { Sandboxes } from './sandbox/sandboxes.ts';

export interface NetworkParts {
  kernel: NetworkKernel;
  meta: MetaTable;
  table: NetworkTable;
  journal: Journal;
  options: NetworkOptions;
  files: HostFiles;
  containerName: (containerId: string) => string | undefined;
  isWanted: (networkName: string) => boolean;
  clock: Clock;
  log: Logger;
}

/** The domain of networks, put together: `networks` for the API, `sandboxes` for containers. */
export function assembleNetworks(parts: NetworkParts): { networks: Networks; sandboxes: Sandboxes } {
  const registry = new NetworkIndex(parts);
  const bridgeDriver = new BridgeDriver(parts);
  const drivers = new Map<string, NetworkDriver>(
    [bridgeDriver, new ParentDriver('macvlan', parts), new ParentDriver('ipvlan', parts)].map((driver) => [
      driver.name,
      driver,
    ]),
  );
  const server = new NameServer({ sockets: parts.kernel.names, clock: parts.clock });
  const names = new ContainerNames({ ...parts, listener: parts.kernel.names, server, registry });
  const defaultNetwork = new DefaultNetwork({ ...parts, registry, bridgeDriver });
  const ports = new PortAllocator(parts);
  return {
    networks: new Networks({ ...parts, registry, drivers }),
    sandboxes: new Sandboxes({ ...parts, registry, drivers, defaultNetwork, names, ports }),
  };
}
