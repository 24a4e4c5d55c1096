import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { registryAuth } from '../../api/routes/registry-auth.ts';
import type { RegistryPort } from '../../api/types/ports.ts';
import { hostPlatform } from '../../storage/image/platform.ts';
import { familiarName, tryParseReference, withDefaultTag } from '../../storage/references/reference.ts';
import type { BlobStore } from '../../swarm/blobs/ports.ts';
import type { ImageNames } from '../../swarm/control/ports.ts';
import type { Executor } from '../../swarm/agent/executor.ts';
import type { TaskListener } from '../../swarm/control/events/task-news.ts';
import type { RolloutPort } from '../../swarm/leader/rollouts.ts';
import type { RecordsGuest } from '../../swarm/records/ports.ts';
import type { NodeEventsListener } from '../../swarm/told-events/ports.ts';
import { Swarm } from '../../swarm/swarm.ts';
import { systemClock } from '../base/clock.ts';
import { EngineError } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { Rollback } from '../base/rollback.ts';
import { SwarmEventLog } from '../events/swarm-events.ts';
import type { AssembledNetworks } from '../networks/assemble.ts';
import type { Images } from '../images/images.ts';
import type { Networks } from '../networks/networks.ts';
import { ScopedNetworks } from '../networks/scopes/scoped-networks.ts';
import type { Base } from './parts.ts';
import { subnetsOf } from './tasks.ts';
import type { ComposedHub } from './hub/compose-hub.ts';
import { ETCD, swarmPaths } from './swarm-paths.ts';

/** This host's part in a swarm, with the engine as what its tasks run on. What it was before is taken up by `start`. */
export function composeSwarm(
  { deps: { config, instance, log }, host: { facts }, database, events }: Base,
  parts: Rollback,
  engine: {
    tasks: Executor;
    registries: RegistryPort;
    images: Images;
    networks: Networks;
    rollouts: RolloutPort | undefined;
    /** Who is told what becomes of tasks, and what happened on other nodes. */
    cluster: { taskNews: TaskListener | undefined; nodeEvents: NodeEventsListener | undefined };
    /** The hub, once it is there. */
    late: { hub?: ComposedHub | undefined };
    guest: RecordsGuest;
  },
): Swarm {
  const directories = swarmPaths(instance.paths);
  const swarm = new Swarm({
    clock: systemClock,
    logger: log,
    random: { bytes: randomBytes },
    hostname: facts.hostname,
    ...directories,
    agentDirectory: join(directories.dataDirectory, 'agent'),
    etcd: ETCD,
    executor: engine.tasks,
    onChange: () => engine.guest.changed(),
    onWorkerLeaves: async () => await engine.guest.leavingAsWorker?.(),
    engine: {
      images: imageNames(engine.registries),
      blobStore: blobStore(config.hubAddress !== '', () => engine.late.hub?.own),
      imageStore: { platform: hostPlatform(), find: (image, wanted) => engine.images.share(image, wanted) },
      localNetwork: (ref) => {
        const found = engine.networks.lookUp(ref);
        // Of the swarm's own the managers know more.
        return found?.driver === 'overlay' ? undefined : found;
      },
      hostSubnets: () => subnetsOf(engine.networks),
      events: new SwarmEventLog({ database, journal: events }),
      rollouts: engine.rollouts,
      taskNews: engine.cluster.taskNews,
      nodeEvents: engine.cluster.nodeEvents,
      guest: engine.guest,
    },
  });
  parts.defer('end the part in the swarm', () => swarm[Symbol.asyncDispose]());
  return swarm;
}

/** Networks of this host and of its swarm, for the API. */
export function composeScopes(
  { networks: local, overlays }: Pick<AssembledNetworks, 'networks' | 'overlays'>,
  swarm: Swarm,
  log: Logger,
): ScopedNetworks {
  return new ScopedNetworks({
    local,
    swarm: swarm.networks,
    role: () => swarm.role,
    peersOf: (id) => overlays.peers(id),
    servicesOf: (id) => overlays.services(id),
    clock: systemClock,
    log,
  });
}

/** `own`: the hub once it is there, where there is to be one. */
function blobStore(hasHub: boolean, own: () => BlobStore | undefined): BlobStore {
  const there = (): BlobStore => {
    const hub = own();
    if (hub === undefined) {
      throw new EngineError('unavailable', 'the hub of this manager is not ready');
    }
    return hub;
  };
  return {
    open: async (digest) => await own()?.open(digest),
    offered: async (offer) => (hasHub ? await there().offered(offer) : 'no-hub'),
    take: async (offer, pieces) => await there().take(offer, pieces),
  };
}

function imageNames(registries: Pick<RegistryPort, 'distribution'>): ImageNames {
  return {
    isReference: (text) => tryParseReference(text) !== undefined,
    pin: async (text, auth, signal) => {
      const reference = tryParseReference(text);
      if (reference === undefined || reference.digest !== undefined) {
        return { image: text, platforms: [] };
      }
      const { Descriptor, Platforms } = await registries.distribution(text, registryAuth(auth), signal);
      return {
        image: `${familiarName(withDefaultTag(reference))}@${Descriptor.digest}`,
        platforms: Platforms.map(({ architecture, os }) => ({ Architecture: architecture, OS: os })),
      };
    },
  };
}
