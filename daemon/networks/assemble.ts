import type { MetaTable, NetworkTable } from '../../storage/database/rows.ts';
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import type { Journal } from '../events/journal-types.ts';
import { BridgeDriver } from './drivers/bridge-driver.ts';
import { DefaultNetwork } from './drivers/default-network.ts';
import { ContainerNames } from './dns/container-names.ts';
import { NameServer } from './dns/name-server.ts';
import type { NetworkDriver } from './drivers/driver.ts';
import type { HostFiles } from './files/host-files.ts';
import { Networks } from './networks.ts';
import { OutletNetwork } from './drivers/outlet-network.ts';
import { OverlayDriver } from './drivers/overlay-driver.ts';
import { ParentDriver } from './drivers/parent-driver.ts';
import type { NetworkOptions } from './options.ts';
import { Mesh } from './overlay/mesh/mesh.ts';
import { NetworkFiles } from './overlay/network-files.ts';
import { OverlayNetworks } from './overlay/overlay-networks.ts';
import type { OverlayKernel } from './overlay/ports.ts';
import { Reach } from './overlay/reach/reach.ts';
import { SwarmEntries } from './overlay/swarm-entries.ts';
import type { NetworkKernel } from './ports.ts';
import { NetworkIndex } from './network-index.ts';
import { PortAllocator } from './sandbox/port-allocator.ts';
import { Sandboxes } from './sandbox/sandboxes.ts';
import { SwarmAttachments } from './sandbox/swarm-attachments.ts';
import type { SwarmAccess } from './sandbox/swarm-attachments.ts';

export interface NetworkParts {
  kernel: NetworkKernel;
  overlayKernel: OverlayKernel;
  meta: MetaTable;
  table: NetworkTable;
  journal: Journal;
  options: NetworkOptions;
  files: HostFiles;
  containerName: (containerId: string) => string | undefined;
  isWanted: (networkName: string) => boolean;
  /** Where what is known of the swarm's networks is kept. */
  overlayFiles: string;
  /** The swarm's door. */
  swarm: SwarmAccess;
  clock: Clock;
  log: Logger;
}

/** The domain of networks, put together. */
export interface AssembledNetworks {
  /** For the API. */
  networks: Networks;
  /** For containers. */
  sandboxes: Sandboxes;
  /** For what managers of a swarm tell. Disposal leaves the kernel as it is. */
  overlays: OverlayNetworks;
  /** Containers in networks of the swarm that are no tasks. */
  attachments: SwarmAttachments;
  /** What `host-gateway` in an extra host means; undefined without a default network. */
  hostGateway(): string | undefined;
}

export function assembleNetworks(parts: NetworkParts): AssembledNetworks {
  const { kernel, overlayKernel, clock, log } = parts;
  const registry = new NetworkIndex(parts);
  const bridgeDriver = new BridgeDriver(parts);
  const drivers = new Map<string, NetworkDriver>(
    [
      bridgeDriver,
      new ParentDriver('macvlan', parts),
      new ParentDriver('ipvlan', parts),
      new OverlayDriver(),
    ].map((driver) => [driver.name, driver]),
  );
  const server = new NameServer({ sockets: parts.kernel.names, clock: parts.clock });
  const names = new ContainerNames({ ...parts, listener: parts.kernel.names, server, registry });
  const defaultNetwork = new DefaultNetwork({ ...parts, registry, bridgeDriver });
  const ports = new PortAllocator(parts);
  const networks = new Networks({ ...parts, registry, drivers });
  const outlet = new OutletNetwork({
    has: (name) => registry.has(name),
    create: (request) => networks.create(request),
    isTaken: (link) => kernel.linkAddresses(link).length > 0,
  });
  const reach = new Reach({
    askedPerTurnMax: limits.overlayAskedPerTurnMax,
    unansweredMax: limits.overlayUnansweredMax,
  });
  const overlays = new OverlayNetworks({
    kernel: overlayKernel,
    files: new NetworkFiles({ directory: parts.overlayFiles, clock, log }),
    entries: new SwarmEntries(registry),
    mesh: new Mesh({ kernel: overlayKernel, hostPorts: ports, serving: reach, clock, log }),
    reach,
    clock,
    log,
  });
  const attachments = new SwarmAttachments({
    access: parts.swarm,
    registry,
    trouble: (networkId) => overlays.trouble(networkId),
    log,
  });
  const shared = { ...parts, registry, drivers, defaultNetwork, names, ports, outlet, overlays, attachments };
  const hostGateway = (): string | undefined => defaultNetwork.hostGatewayIfAny();
  return { networks, sandboxes: new Sandboxes(shared), overlays, attachments, hostGateway };
}
