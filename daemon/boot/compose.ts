import { listenCluster } from '../../api/cluster/listen.ts';
import { listenHub } from '../../api/hub/listen.ts';
import { listen } from '../../api/listen.ts';
import { listenMetrics } from '../../api/metrics.ts';
import type { Address, Listener } from '../../api/listen.ts';
import type { EnginePorts, MetricsPort } from '../../api/types/ports.ts';
import { createApi, type ApiDeps } from '../../api/server.ts';
import type { BuildCacheItem } from '../../api/types/system.ts';
import type { HostFacts } from '../../runtime/host/facts.ts';
import type { Executor } from '../../swarm/agent/executor.ts';
import type { Swarm } from '../../swarm/swarm.ts';
import { switchOnForwarding } from '../../runtime/network/firewall/forwarding.ts';
import type { Archives } from '../../storage/files/archives.ts';
import { openDatabase } from '../../storage/database/index.ts';
import { systemClock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { Rollback } from '../base/rollback.ts';
import type { Containers } from '../containers/containers.ts';
import { EventLog } from '../events/event-log.ts';
import { Execs } from '../execs/execs.ts';
import type { Images } from '../images/images.ts';
import type { Volumes } from '../volumes/volumes.ts';
import { DiskUsages } from '../system/disk-usage.ts';
import { composeBuilds } from './builds.ts';
import { composeClusterPlace, openCluster, type ComposedCluster } from './cluster/compose-cluster.ts';
import { gatedExecutor } from './cluster/gated-executor.ts';
import { allGuests } from './cluster/guests.ts';
import { parseListenAddress } from './config/hosts.ts';
import type { Config } from './config/settings.ts';
import { readHost } from './host/host.ts';
import { prepareDirectories } from './host/instance-directories.ts';
import type { ComposedHub } from './hub/compose-hub.ts';
import { composeHubDoors, openHub } from './hub/compose-place.ts';
import type { Instance } from './instance.ts';
import {
  type Base,
  composeContainers,
  composeFiles,
  composeImages,
  composeMetrics,
  composeNetwork,
  composeRuntime,
  composeSystem,
  composeVolumes,
} from './parts.ts';
import { SwarmDoor } from './swarm-door.ts';
import { composeScopes, composeSwarm } from './swarm.ts';
import { composeTasks } from './tasks.ts';
import { ENGINE_VERSION } from './version.ts';

/** What `run` hands over once this process has the data root for itself. */
export interface ComposeDeps {
  config: Config;
  instance: Instance;
  addresses: readonly Address[];
  log: Logger;
}

/** A daemon that answers. */
export interface Engine {
  /** Takes over reloadable settings and emits `daemon reload` (attributes: `config/reload.ts`). */
  reload(config: Config): Promise<void>;
  /**
   * Ends the requests of clients and closes the database. Touches no container: they belong to their monitors. The
   * caller ends the process when it takes longer than `shutdown-timeout`.
   */
  stop(): Promise<void>;
}

/**
 * The composition root: the only place where all parts meet, and where the compiler checks that they fit the ports.
 * Each part needs those before it:
 *
 *   host facts -> database -> event log -> images, volumes, networks -> runtime -> containers (restore) -> system, API
 *
 * The API listens last, so that no client sees half an engine. Stopping goes backwards; so does a start that fails.
 */
export async function compose(deps: ComposeDeps): Promise<Engine> {
  const { log } = deps;
  const parts = new Rollback(log);
  try {
    const domain = await composeDomain(deps, parts);
    await serve(deps, domain, parts);
    return {
      reload: (config) => Promise.resolve(domain.reload(config)),
      stop: () => parts[Symbol.asyncDispose](),
    };
  } catch (error) {
    await parts[Symbol.asyncDispose]();
    throw error;
  }
}

export interface Domain {
  ports: EnginePorts;
  /** Runs tasks of a swarm. */
  tasks: Executor;
  facts: HostFacts;
  /** Undefined = not asked for. */
  metrics: MetricsPort | undefined;
  /** The same. */
  hub: ComposedHub | undefined;
  cluster: ComposedCluster | undefined;
  reload(config: Config): void;
}

async function serve(deps: ComposeDeps, domain: Domain, parts: Rollback): Promise<void> {
  const { log } = deps;
  const facts = {
    version: ENGINE_VERSION,
    experimental: false,
    os: 'linux',
    cgroupVersion: domain.facts.cgroup.version,
  };
  const { hub, cluster } = domain;
  const api = createApi({
    ports: domain.ports,
    log,
    facts,
    allowedOrigin: deps.config.apiCorsHeader,
    mounts: mountsOf(domain),
  });
  const listeners: Listener[] = [];
  parts.defer('close listeners', async () => {
    await Promise.all(listeners.map((listener) => listener.close()));
  });
  for (const address of deps.addresses) {
    listeners.push(await listen(api, address, log));
  }
  const metricsAddress = parseListenAddress('metrics-addr', deps.config.metricsAddr);
  if (metricsAddress !== undefined && domain.metrics !== undefined) {
    listeners.push(await listenMetrics(domain.metrics, metricsAddress, log));
  }
  if (hub !== undefined) {
    listeners.push(await listenHub(hub.api, hub.address, log));
  }
  if (cluster !== undefined) {
    const { api: clusterApi, address, endStreams: onClose } = cluster;
    listeners.push(await listenCluster(clusterApi, address, { log, onClose }));
  }
}

/** The interfaces beside the engine's API, on its sockets too: who reaches these is root. */
function mountsOf({ hub, cluster }: Domain): NonNullable<ApiDeps['mounts']> {
  const mounted = [['/hub', hub?.api] as const, ['/cluster', cluster?.api] as const].flatMap(
    ([prefix, api]) => (api === undefined ? [] : [[prefix, api] as const]),
  );
  return new Map(
    mounted.map(([prefix, api]) => [prefix, (req, res, url) => api.handle(req, res, 'engine', url)]),
  );
}

/** Everything behind the API, each part made of those before it. */
export async function composeDomain(deps: ComposeDeps, parts: Rollback): Promise<Domain> {
  const { log } = deps;
  const base = await composeBase(deps, parts);
  const { host, events } = base;

  // Images, volumes and networks ask about containers, which are made of them: answered once the registry is there.
  const late: { containers?: Containers; swarm?: Swarm; hub?: ComposedHub | undefined } = {};
  const files = await composeFiles(base, parts);
  const { archives } = files;
  const { images, layers } = await composeImages(base, {
    ...files,
    parts,
    users: (id) => late.containers?.imageUsers(id) ?? [],
    ownHub: () => late.hub?.own,
  });
  const volumes = await composeVolumes(base, {
    users: (name) => late.containers?.volumeUsers(name) ?? [],
    liveUsers: (name) => late.containers?.liveVolumeUsers(name) ?? [],
    archives,
  });
  const door = new SwarmDoor();
  const network = composeNetwork(base, parts, {
    swarm: door,
    containerName: (id) => late.containers?.nameOf(id),
    isWanted: (name) => (late.containers?.networkUsers(name) ?? []).length > 0,
  });
  const runtime = composeRuntime(host, deps.instance, log);
  parts.defer('end exit watch', () => runtime[Symbol.dispose]());
  const membership = (): Swarm['membership'] => late.swarm?.membership;
  const doors = composeHubDoors(base, membership);
  const place = composeClusterPlace(base, membership);
  const neighbours = { images, layers, volumes, network, runtime, hubTokens: doors.tokens, ...files };
  const containers = composeContainers(base, neighbours);
  late.containers = containers;
  await containers.restore();
  await volumes.settle();
  parts.defer('stop watching containers', () => containers.close());
  const execs = new Execs({ targets: containers, runtime, clock: systemClock, log });
  const { buildCache, ...builds } = await composeBuilds(base, parts, { ...neighbours, containers });
  const usages = diskUsages({ images, containers, volumes, archives, buildCache });
  const { system, registries, reload } = composeSystem(base, {
    diskUsage: (types) => usages.read(types),
    counts: () => ({ ...containers.counts(), images: images.count }),
    volumeDrivers: () => volumes.drivers(),
    warnings: () =>
      [...network.overlays.troubles(), ...doors.place.warnings()].map((each) => `WARNING: ${each}`),
  });
  const metrics = await composeMetrics(base, parts, {
    counts: () => ({ ...containers.counts(), images: images.count }),
    layers: () => images.layers,
    overlayRepairs: () => network.overlays.repairs,
    hubRepairs: () => late.hub?.repairs ?? { copies: 0, bytes: 0 },
  });
  const { networks, overlays, attachments } = network;
  const swarmOf = (): Swarm | undefined => late.swarm;
  const engine = { containers, images, networks, overlays, attachments, events, system, swarm: swarmOf };
  const tasks = composeTasks(base, parts, { ...engine, ...files });
  const ports = { containers, execs, images, ...builds, volumes, events, system, registries };
  const guest = allGuests([doors.place, place]);
  const around = { registries, images, networks, rollouts: doors.rollouts, guest, late, cluster: place };
  const swarm = composeSwarm(base, parts, { tasks: gatedExecutor(tasks, place, log), ...around });
  late.swarm = swarm;
  await swarm.start();
  door.open(swarm);
  const allPorts = { ...ports, networks: composeScopes(network, swarm, log), swarm } satisfies EnginePorts;
  const hub = await openHub(base, parts, doors, { swarm, images, containers, websites: place });
  late.hub = hub;
  const cluster = await openCluster(base, parts, { place, hub, swarm, images, engine: allPorts });
  return { facts: host.facts, metrics, tasks, ports: allPorts, hub, cluster, reload };
}

async function composeBase(deps: ComposeDeps, parts: Rollback): Promise<Base> {
  const { config, instance, log } = deps;
  prepareDirectories(instance);
  if (config.ipForward) {
    // Before the host is looked at, which would warn that it is off.
    switchOnForwarding(log);
  }
  const host = await readHost(config, instance, log);
  const database = openDatabase(instance.paths.database, log, instance.paths.execRoot);
  parts.defer('close database', () => database.close());
  const events = new EventLog({ database, clock: systemClock, log });
  parts.defer('end event streams', () => events[Symbol.dispose]());
  return { deps, host, database, events, live: { config } };
}

function diskUsages({
  images,
  containers,
  volumes,
  archives,
  buildCache,
}: {
  images: Images;
  containers: Containers;
  volumes: Volumes;
  archives: Archives;
  buildCache: () => BuildCacheItem[];
}): DiskUsages {
  return new DiskUsages({
    layersBytes: () => images.layers.bytes,
    images: () => images.list({ all: false, filters: new Map(), sharedSize: true, digests: false }),
    containersOfImage: (id) => containers.imageUsers(id).length,
    containers: () => containers.list({ all: true, limit: 0, size: true, filters: new Map() }),
    volumes: async () => (await volumes.list(new Map())).Volumes,
    containersOfVolume: (name) => containers.volumeUsers(name).length,
    sizes: (directories) => archives.sizes(directories),
    buildCache,
  });
}
