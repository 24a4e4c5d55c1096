import { join } from 'node:path';
import { listen } from '../../api/listen.ts';
import type { Address, Listener } from '../../api/listen.ts';
import type { BuildPort, EnginePorts } from '../../api/types/ports.ts';
import { createApi } from '../../api/server.ts';
import type { HostFacts } from '../../runtime/host/facts.ts';
import { KernelMounts } from '../../runtime/mounts/runner.ts';
import { switchOnForwarding } from '../../runtime/network/forwarding.ts';
import { KernelNetwork } from '../../runtime/network/kernel-network.ts';
import { ConmonRuntime } from '../../runtime/runc/conmon-runtime.ts';
import { VolumePlugins } from '../../runtime/volume-plugins/volume-plugins.ts';
import { openDatabase } from '../../storage/database/index.ts';
import type { SqliteDatabase } from '../../storage/database/index.ts';
import { Archives } from '../../storage/archives/archives.ts';
import { TarSpools } from '../../storage/archives/tar-spools.ts';
import { RootfsDirectories } from '../../storage/layers/rootfs.ts';
import { LayerStore } from '../../storage/layers/store.ts';
import { LayerWorkers } from '../../storage/layers/worker-pool.ts';
import { ProjectQuotas } from '../../storage/quotas/project-quotas.ts';
import { SpoolDirectory } from '../../storage/tarballs/spool.ts';
import { LocalVolumes } from '../../storage/volumes/local-volumes.ts';
import { systemClock } from '../base/clock.ts';
import { bootId, isAlive } from '../base/kernel/process.ts';
import type { Logger } from '../base/log.ts';
import { Rollback } from '../base/rollback.ts';
import { Containers } from '../containers/containers.ts';
import { readAccountFiles, resolveUser } from '../containers/oci/user.ts';
import { EventLog } from '../events/log.ts';
import { Execs } from '../execs/execs.ts';
import type { ImageUser, RegistryUse } from '../images/deps.ts';
import { Images } from '../images/images.ts';
import { ContainerLogs } from '../logs/container-logs.ts';
import { hostFiles } from '../networks/host-files.ts';
import { DiskUsages } from '../system/disk-usage.ts';
import { assembleNetworks } from '../networks/assemble.ts';
import type { NetworkParts } from '../networks/assemble.ts';
import type { Networks } from '../networks/networks.ts';
import type { Sandboxes } from '../networks/sandboxes.ts';
import { engineId } from '../system/engine-id.ts';
import { liveFacts } from '../system/live-facts.ts';
import { Registries } from '../registry/registries.ts';
import { System } from '../system/system.ts';
import type { SystemDeps } from '../system/system.ts';
import { Volumes } from '../volumes/volumes.ts';
import type { VolumesDeps } from '../volumes/context.ts';
import { reloadAttributes } from './config/reload.ts';
import type { Config } from './config/settings.ts';
import { readSeccompDefault } from './seccomp-default.ts';
import {
  buildOf,
  engineDefaultsOf,
  networkOptionsOf,
  registrySettingsOf,
  systemSettingsOf,
} from './derived.ts';
import { readHost } from './host.ts';
import type { Host } from './host.ts';
import { prepareDirectories } from './instance-directories.ts';
import type { Instance } from './instance.ts';
import { ENGINE_VERSION, readBuildStamp } from './version.ts';

/** Certificates of registries: ours first, then those an administrator has for Docker. */
const CERTIFICATE_ROOTS = ['/etc/berth/certs.d', '/etc/docker/certs.d'];

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
   * Says good-bye to clients and closes the database. Touches no container: they belong to their monitors. The caller
   * ends the process when it takes longer than `shutdown-timeout`.
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

interface Domain {
  ports: EnginePorts;
  facts: HostFacts;
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
  const api = createApi({ ports: domain.ports, log, facts, allowedOrigin: deps.config.apiCorsHeader });
  const listeners: Listener[] = [];
  parts.defer('close listeners', async () => {
    await Promise.all(listeners.map((listener) => listener.close()));
  });
  for (const address of deps.addresses) {
    listeners.push(await listen(api, address, log));
  }
}

/** Everything behind the API, each part made of those before it. */
async function composeDomain(deps: ComposeDeps, parts: Rollback): Promise<Domain> {
  const { config, instance, log } = deps;
  prepareDirectories(instance);
  if (config.ipForward) {
    // Before the host is looked at, which would warn that it is off.
    switchOnForwarding(log);
  }
  const host = await readHost(config, instance, log);
  const database = openDatabase(instance.paths.database, log);
  parts.defer('close database', () => database.close());
  const events = new EventLog({ database, clock: systemClock, log });
  parts.defer('end event streams', () => events[Symbol.dispose]());
  const live = { config };
  const base = { deps, host, database, events, live };

  // Images, volumes and networks ask about containers, which are made of them: answered once the registry is there.
  const late: { containers?: Containers } = {};
  const files = await composeFiles(base, parts);
  const { archives } = files;
  const { images, layers } = await composeImages(
    base,
    { parts, archives },
    (id) => late.containers?.imageUsers(id) ?? [],
  );
  const volumes = await composeVolumes(base, {
    users: (name) => late.containers?.volumeUsers(name) ?? [],
    liveUsers: (name) => late.containers?.liveVolumeUsers(name) ?? [],
    archives,
  });
  const network = composeNetwork(base, parts, {
    containerName: (id) => late.containers?.nameOf(id),
    isWanted: (name) => (late.containers?.networkUsers(name) ?? []).length > 0,
  });
  const runtime = composeRuntime(host, instance, log);
  parts.defer('end exit watch', () => runtime[Symbol.dispose]());
  const containers = composeContainers(base, { images, layers, volumes, network, runtime, ...files });
  late.containers = containers;
  await containers.restore();
  await volumes.settle();
  parts.defer('stop watching containers', () => containers.close());
  const execs = new Execs({ targets: containers, runtime, clock: systemClock, log });
  const usages = new DiskUsages({
    layersBytes: () => images.layersBytes,
    images: () => images.list({ all: false, filters: new Map(), sharedSize: true, digests: false }),
    containersOfImage: (id) => containers.imageUsers(id).length,
    containers: () => containers.list({ all: true, limit: 0, size: true, filters: new Map() }),
    volumes: async () => (await volumes.list(new Map())).Volumes,
    containersOfVolume: (name) => containers.volumeUsers(name).length,
    sizes: (directories) => archives.sizes(directories),
  });
  const { system, registries, reload } = composeSystem(base, {
    diskUsage: (types) => usages.read(types),
    counts: () => ({ ...containers.counts(), images: images.count }),
    volumeDrivers: () => volumes.drivers(),
  });
  const { networks } = network;
  const builds = composeBuilds(base, { images, containers, ...files });
  const ports = { containers, execs, images, builds, networks, volumes, events, system, registries };
  return {
    facts: host.facts,
    ports: ports satisfies EnginePorts,
    reload,
  };
}

/** What every later part is made with. */
interface Base {
  deps: ComposeDeps;
  host: Host;
  database: SqliteDatabase;
  events: EventLog;
  /** The configuration as it is now. */
  live: { config: Config };
}

async function composeImages(
  { deps: { instance, log }, database, events, live }: Base,
  { parts, archives }: { parts: Rollback; archives: Archives },
  users: (imageId: string) => readonly ImageUser[],
): Promise<{ images: Images; layers: LayerStore }> {
  const { dataRoot } = instance.paths;
  const workers = new LayerWorkers();
  parts.defer('end layer threads', () => workers[Symbol.asyncDispose]());
  const removeTree = (path: string): Promise<void> => archives.removeUnreachable(path);
  const { removals } = archives;
  const layers = new LayerStore({ dataRoot, workers, removeTree, removals, log });
  const spools = new SpoolDirectory(dataRoot, () => removals.ended());
  const registry = (): RegistryUse => ({
    settings: registrySettingsOf(live.config),
    certificateRoots: CERTIFICATE_ROOTS,
    downloadsMax: live.config.maxConcurrentDownloads,
    uploadsMax: live.config.maxConcurrentUploads,
  });
  const images = new Images({
    database,
    journal: events,
    layers,
    spools,
    clock: systemClock,
    log,
    users,
    registry,
    engineVersion: ENGINE_VERSION,
  });
  await images.restore();
  return { images, layers };
}

async function composeVolumes(
  { deps: { config, instance, log }, database, events }: Base,
  { archives, ...questions }: Pick<VolumesDeps, 'users' | 'liveUsers'> & { archives: Archives },
): Promise<Volumes> {
  const directories = new LocalVolumes({
    root: instance.paths.volumes,
    quotas: new ProjectQuotas(),
    removeTree: (path) => archives.remove(path),
    log,
  });
  const volumes = new Volumes({
    ...questions,
    sizes: (paths) => archives.sizes(paths),
    journal: events,
    database,
    directories,
    plugins: new VolumePlugins({
      folders: config.pluginFolders,
      timeoutMs: config.pluginTimeout * 1000,
    }),
    clock: systemClock,
    log,
  });
  await volumes.restore();
  return volumes;
}

/** What walks containers' files. */
async function composeFiles(
  { deps: { instance } }: Base,
  parts: Rollback,
): Promise<Pick<Neighbours, 'archives' | 'mounts' | 'tarSpools'>> {
  const archives = new Archives();
  parts.defer('end archive threads', () => archives[Symbol.asyncDispose]());
  const mounts = new KernelMounts({
    viewPoint: join(instance.paths.execRoot, 'view'),
    temporary: instance.paths.temporary,
  });
  await mounts.prepare();
  const spools = new SpoolDirectory(instance.paths.dataRoot, () => archives.removals.ended());
  return { archives, mounts, tarSpools: new TarSpools(spools) };
}

interface Neighbours {
  archives: Archives;
  mounts: KernelMounts;
  tarSpools: TarSpools;
  images: Images;
  layers: LayerStore;
  volumes: Volumes;
  network: { sandboxes: Sandboxes };
  runtime: ConmonRuntime;
}

function composeBuilds(
  { deps: { instance } }: Base,
  parts: Pick<Neighbours, 'images' | 'archives' | 'mounts' | 'tarSpools'> & { containers: Containers },
): BuildPort {
  return parts.images.builder({
    ...parts,
    spools: parts.tarSpools,
    resolveUser: (root, text) => resolveUser(text, readAccountFiles(root)),
    temporary: instance.paths.temporary,
  });
}

function composeContainers({ deps, host, database, events }: Base, neighbours: Neighbours): Containers {
  const { config, instance, log } = deps;
  const { images, layers, volumes, network, runtime, archives, mounts, tarSpools } = neighbours;
  const { dataRoot } = instance.paths;
  const directories = {
    diff: (id: number) => layers.diff(id),
    sizeBytes: (id: number) => images.layerSize(id),
  };
  return new Containers({
    journal: events,
    table: database.containers,
    runtime,
    rootfs: new RootfsDirectories({
      dataRoot,
      layers: directories,
      quotas: new ProjectQuotas(),
      sizes: (paths) => archives.sizes(paths),
      removeTree: (path) => archives.removeUnreachable(path),
      log,
    }),
    mounts,
    archives,
    tarSpools,
    images,
    networks: network.sandboxes,
    volumes,
    logs: new ContainerLogs({ monitors: runtime, clock: systemClock, log }),
    clock: systemClock,
    log,
    facts: host.facts,
    defaults: engineDefaultsOf(config, readSeccompDefault(config.seccompProfile)),
    dataRoot,
    storageDriver: config.storageDriver,
    cgroupParent: host.cgroupParent,
    bootId: bootId(),
    isAlive,
  });
}

function composeSystem(
  { live, host: { facts }, database, events }: Base,
  answers: Pick<SystemDeps, 'counts' | 'diskUsage' | 'volumeDrivers'>,
): { system: System; registries: Registries; reload: (config: Config) => void } {
  const id = engineId(database);
  const system = new System({
    engineId: id,
    build: buildOf(database.sqliteVersion, readBuildStamp()),
    facts,
    live: liveFacts,
    settings: () => systemSettingsOf(live.config, facts),
    ...answers,
    eventListeners: () => events.listeners,
    environment: process.env,
    clock: systemClock,
  });
  const reload = (next: Config): void => {
    live.config = next;
    const attributes = reloadAttributes(next, facts.hostname);
    events.commit((emit) => emit({ type: 'daemon', action: 'reload', actorId: id, attributes }));
  };
  const registries = new Registries({
    settings: () => registrySettingsOf(live.config),
    certificateRoots: CERTIFICATE_ROOTS,
  });
  return { system, registries, reload };
}

function composeNetwork(
  { deps: { config, instance, log }, database: { meta, networks: table }, events: journal }: Base,
  parts: Rollback,
  questions: Pick<NetworkParts, 'containerName' | 'isWanted'>,
): { sandboxes: Sandboxes; networks: Networks } {
  const clock = systemClock;
  const options = networkOptionsOf(config, instance);
  const settings = {
    namespaceDirectory: instance.paths.networkNamespaces,
    interfacePrefix: instance.interfacePrefix,
    table: instance.nftTable,
    ipForward: config.ipForward,
  };
  const kernel = new KernelNetwork({ settings, log, clock });
  parts.defer('stop looking after the firewall', () => kernel[Symbol.dispose]());
  return assembleNetworks({
    kernel,
    meta,
    table,
    journal,
    options,
    files: hostFiles(),
    ...questions,
    clock,
    log,
  });
}

function composeRuntime(host: Host, instance: Instance, log: Logger): ConmonRuntime {
  return new ConmonRuntime({
    runcPath: host.runcPath,
    conmonPath: host.conmonPath,
    execRoot: instance.paths.execRoot,
    cgroup: { layout: host.cgroupLayout, driver: host.facts.cgroup.driver, parent: host.cgroupParent },
    log,
  });
}
