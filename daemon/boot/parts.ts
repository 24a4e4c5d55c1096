import { join } from 'node:path';
import type { MetricsPort } from '../../api/types/ports.ts';
import { KernelMounts } from '../../runtime/mounts/kernel-mounts.ts';
import { KernelNetwork } from '../../runtime/network/kernel-network.ts';
import { ConmonRuntime } from '../../runtime/runc/conmon-runtime.ts';
import { VolumePlugins } from '../../runtime/volume-plugins/volume-plugins.ts';
import type { SqliteDatabase } from '../../storage/database/index.ts';
import { Archives } from '../../storage/files/archives.ts';
import { TarSpools } from '../../storage/files/tar-spools.ts';
import { RootfsDirectories } from '../../storage/layers/rootfs.ts';
import { LayerStore } from '../../storage/layers/store.ts';
import { LayerWorkers } from '../../storage/layers/workers/layer-workers.ts';
import { IdleThreads } from '../../storage/layers/workers/worker-threads.ts';
import { ProjectQuotas } from '../../storage/quotas/project-quotas.ts';
import { SpoolDirectory } from '../../storage/spool/spool.ts';
import { LocalVolumes } from '../../storage/volumes/local-volumes.ts';
import { systemClock } from '../base/clock.ts';
import { bootId, isAlive } from '../base/kernel/processes/process.ts';
import type { Logger } from '../base/logger.ts';
import type { Rollback } from '../base/rollback.ts';
import { CdiDevices } from '../../runtime/cdi/cdi-devices.ts';
import { Containers } from '../containers/containers.ts';
import type { HubTokens } from '../containers/ports.ts';
import type { EventLog } from '../events/event-log.ts';
import type { ImagesDeps, RegistryUse } from '../images/deps.ts';
import { Images } from '../images/images.ts';
import { ContainerLogs } from '../logs/container-logs.ts';
import type { MetricsDeps } from '../metrics/metrics.ts';
import { hostFiles } from '../networks/files/host-files.ts';
import { assembleNetworks } from '../networks/assemble.ts';
import type { AssembledNetworks, NetworkParts } from '../networks/assemble.ts';
import type { Sandboxes } from '../networks/sandbox/sandboxes.ts';
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
import type { Host } from './host/host.ts';
import type { Instance } from './instance.ts';
import { ENGINE_VERSION, readBuildStamp } from './version.ts';

/** Certificates of registries: ours first, then those an administrator has for Docker. */
const CERTIFICATE_ROOTS = ['/etc/berth/certs.d', '/etc/docker/certs.d'];

/** What every part is made with, besides those before it; the order is that of `compose.ts`. */
export interface Base {
  deps: { config: Config; instance: Instance; log: Logger };
  host: Host;
  database: SqliteDatabase;
  events: EventLog;
  /** The configuration as it is now. */
  live: { config: Config };
}

interface ImageNeighbours extends Pick<ImagesDeps, 'users' | 'ownHub'> {
  parts: Rollback;
  archives: Archives;
  threads: IdleThreads;
}

export async function composeImages(
  { deps: { instance, log }, database, events, live }: Base,
  { parts, archives, threads, users, ownHub }: ImageNeighbours,
): Promise<{ images: Images; layers: LayerStore }> {
  const { dataRoot } = instance.paths;
  const workers = new LayerWorkers(threads);
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
    ownHub,
    registry,
    engineVersion: ENGINE_VERSION,
    bootId: bootId(),
  });
  await images.restore();
  return { images, layers };
}

export async function composeVolumes(
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
export async function composeFiles(
  { deps: { instance } }: Base,
  parts: Rollback,
): Promise<Pick<Neighbours, 'archives' | 'mounts' | 'tarSpools'> & { threads: IdleThreads }> {
  const threads = new IdleThreads();
  // The first job finds a thread started, like all that come after a pause.
  threads.rest();
  const archives = new Archives(threads);
  parts.defer('end archive threads', () => archives[Symbol.asyncDispose]());
  const mounts = new KernelMounts({
    viewPoint: join(instance.paths.execRoot, 'view'),
    temporary: instance.paths.temporary,
  });
  await mounts.prepare();
  const spools = new SpoolDirectory(instance.paths.dataRoot, () => archives.removals.ended());
  return { archives, mounts, threads, tarSpools: new TarSpools(spools, archives) };
}

export interface Neighbours {
  archives: Archives;
  mounts: KernelMounts;
  tarSpools: TarSpools;
  images: Images;
  layers: LayerStore;
  volumes: Volumes;
  network: { sandboxes: Sandboxes };
  runtime: ConmonRuntime;
  hubTokens: HubTokens;
}

export function composeContainers(
  { deps, host, database, events }: Base,
  neighbours: Neighbours,
): Containers {
  const { config, instance, log } = deps;
  const { images, layers, volumes, network, runtime, archives, mounts, tarSpools } = neighbours;
  const { dataRoot } = instance.paths;
  const directories = {
    diff: (id: number) => layers.diff(id),
    initLayer: (id: number) => layers.initLayer(id),
    temporary: () => layers.temporary(),
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
    hubTokens: neighbours.hubTokens,
    describedDevices: new CdiDevices(config.cdiSpecDirs, log),
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

export function composeSystem(
  { deps: { config, log }, live, host: { facts }, database, events }: Base,
  {
    warnings,
    ...answers
  }: Pick<SystemDeps, 'counts' | 'diskUsage' | 'volumeDrivers'> & {
    /** What is wrong at that moment, as sentences for `docker info`. */
    warnings: () => string[];
  },
): { system: System; registries: Registries; reload: (config: Config) => void } {
  const id = engineId(database);
  const devices = new CdiDevices(config.cdiSpecDirs, log);
  const system = new System({
    engineId: id,
    build: buildOf(database.sqliteVersion, readBuildStamp()),
    facts,
    live: liveFacts,
    settings: () => {
      const settings = systemSettingsOf(live.config, facts);
      return { ...settings, warnings: [...settings.warnings, ...warnings()] };
    },
    ...answers,
    describedDevices: () => devices.names(),
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

/** What is measured, when the configuration asks for it: the library is not loaded for others. */
export async function composeMetrics(
  { deps: { config, instance }, host: { facts }, database, events }: Base,
  parts: Rollback,
  questions: Pick<MetricsDeps, 'counts' | 'layers' | 'overlayRepairs' | 'hubRepairs'>,
): Promise<MetricsPort | undefined> {
  if (config.metricsAddr === '') {
    return undefined;
  }
  const { Metrics } = await import('../metrics/metrics.ts');
  const metrics = new Metrics({
    ...questions,
    engine: {
      architecture: facts.architecture,
      commit: readBuildStamp().commit,
      daemon_id: engineId(database),
      graphdriver: config.storageDriver,
      kernel: facts.kernelVersion,
      os: facts.operatingSystem,
      os_type: 'linux',
      os_version: facts.osVersion,
      version: ENGINE_VERSION,
    },
    cpus: facts.cpus,
    memoryBytes: facts.memoryBytes,
    events: () => ({ published: events.published, listeners: events.listeners }),
    database: instance.paths.database,
  });
  parts.defer('measure no more', () => metrics[Symbol.dispose]());
  return metrics;
}

export function composeNetwork(
  { deps: { config, instance, log }, database: { meta, networks: table }, events: journal }: Base,
  parts: Rollback,
  questions: Pick<NetworkParts, 'containerName' | 'isWanted' | 'swarm'>,
): AssembledNetworks {
  const clock = systemClock;
  const options = networkOptionsOf(config, instance);
  const settings = {
    namespaceDirectory: instance.paths.networkNamespaces,
    overlayDirectory: instance.paths.overlayNamespaces,
    interfacePrefix: instance.interfacePrefix,
    table: instance.nftTable,
    ipForward: config.ipForward,
  };
  const kernel = new KernelNetwork({ settings, log, clock });
  parts.defer('stop looking after the firewall', () => kernel[Symbol.dispose]());
  const assembled = assembleNetworks({
    kernel,
    overlayKernel: kernel.overlays,
    overlayFiles: instance.paths.overlayFiles,
    meta,
    table,
    journal,
    options,
    files: hostFiles(),
    ...questions,
    clock,
    log,
  });
  parts.defer('end the part in networks of the swarm', () => assembled.overlays[Symbol.asyncDispose]());
  return assembled;
}

export function composeRuntime(host: Host, instance: Instance, log: Logger): ConmonRuntime {
  return new ConmonRuntime({
    runcPath: host.runcPath,
    runtimes: host.runtimes,
    conmonPath: host.conmonPath,
    execRoot: instance.paths.execRoot,
    cgroup: { layout: host.cgroupLayout, driver: host.facts.cgroup.driver, parent: host.cgroupParent },
    log,
  });
}
