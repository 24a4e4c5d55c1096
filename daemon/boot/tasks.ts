import { join } from 'node:path';
import { registryAuth } from '../../api/routes/registry-auth.ts';
import type { KernelMounts } from '../../runtime/mounts/kernel-mounts.ts';
import { systemClock } from '../base/clock.ts';
import type { Rollback } from '../base/rollback.ts';
import type { Containers } from '../containers/containers.ts';
import type { EventLog } from '../events/event-log.ts';
import type { Images } from '../images/images.ts';
import type { Networks } from '../networks/networks.ts';
import type { OverlayNetworks } from '../networks/overlay/overlay-networks.ts';
import type { System } from '../system/system.ts';
import type { TaskDeps } from '../tasks/ports.ts';
import { createExecutor } from '../tasks/executor.ts';
import type { Executor } from '../../swarm/agent/executor.ts';
import { hostSubnets } from '../../swarm/membership/addresses.ts';
import type { Swarm } from '../../swarm/swarm.ts';
import type { Base } from './parts.ts';

/** What runs a swarm's tasks. It makes nothing before the first one. */
export function composeTasks(
  { deps: { instance, log } }: Pick<Base, 'deps'>,
  parts: Rollback,
  engine: {
    containers: Containers;
    images: Images;
    networks: Networks;
    overlays: OverlayNetworks;
    attachments: TaskDeps['attachments'];
    events: EventLog;
    system: System;
    mounts: KernelMounts;
    /** Undefined before this node's part in a swarm is taken up. */
    swarm: () => Swarm | undefined;
  },
): Executor {
  const tasks = createExecutor({
    ...engine,
    clock: systemClock,
    logger: log,
    filesDirectory: join(instance.paths.execRoot, 'tasks'),
    registryAuth,
    subnets: () => subnetsOf(engine.networks),
    managers: {
      find: async (image, signal) => (await engine.swarm()?.images.find(image, signal)) ?? [],
    },
  });
  parts.defer('stop watching tasks', () => tasks[Symbol.dispose]());
  return tasks;
}

/** What this host's interfaces and its own networks are in, `ADDRESS/LENGTH`, each once and in order. */
export function subnetsOf(networks: Pick<Networks, 'ownSubnets'>): string[] {
  return [...new Set([...hostSubnets(), ...networks.ownSubnets()])].toSorted();
}
