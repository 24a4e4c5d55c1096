import type { Readable } from 'node:stream';
import type {
  AttachOptions,
  ByteStream,
  CommitContainerRequest,
  ContainerPort,
  Conversation,
  Filters,
  ListContainersOptions,
  LogsOptions,
  WaitCondition,
} from '../../api/types/ports.ts';
import type {
  ContainerChange,
  ContainerCreateRequest,
  ContainerCreateResponse,
  ContainerInspect,
  ContainerPruneReport,
  ContainerSummary,
  ContainerUpdateRequest,
  ContainerUpdateResponse,
  PathStat,
  WaitResponse,
} from '../../api/types/container.ts';
import type { EndpointSettings } from '../../api/types/endpoint.ts';
import type { ContainerStats, ContainerTop } from '../../api/types/container-stats.ts';
import { connectNetwork, disconnectNetwork } from './connect.ts';
import { limits } from '../base/limits.ts';
import { KeyedMutex } from '../base/mutex.ts';
import { Semaphore } from '../base/semaphore.ts';
import { Turns } from '../base/turns.ts';
import { attachContainer } from './attach.ts';
import { commitContainer } from './commit.ts';
import type { ContainerContext, ContainersDeps } from './context.ts';
import { createContainer } from './create.ts';
import { execTarget } from './exec-target.ts';
import type { ContainerExecTarget } from './exec-target.ts';
import { HealthMonitors } from './health/monitors.ts';
import { getContainerArchive, putContainerArchive, statContainerPath } from './files/archive.ts';
import type { PutArchiveOptions } from './files/archive.ts';
import { containerChanges } from './files/changes.ts';
import { exportContainer } from './files/export.ts';
import { snapshot } from './files/snapshot.ts';
import type { Snapshot } from './files/snapshot.ts';
import { inspectContainer } from './inspect.ts';
import { killContainer } from './kill.ts';
import { listContainers } from './list.ts';
import { containerLogs } from './logs.ts';
import { Machine } from './machine.ts';
import { pauseContainer } from './pause.ts';
import { pruneContainers } from './prune.ts';
import { Registry } from './registry.ts';
import { removeContainer } from './remove.ts';
import type { RemoveOptions } from './remove.ts';
import { renameContainer } from './rename.ts';
import { resizeContainer } from './resize.ts';
import { restartContainer } from './restart.ts';
import { cancelRestart } from './restart-timer.ts';
import { restoreContainers } from './restore.ts';
import { startContainer } from './start.ts';
import { containerSampler, containerStats, containerStatsStream } from './stats.ts';
import { stopContainer } from './stop.ts';
import type { StopOptions } from './stop.ts';
import { countContainers, imageUsers, liveVolumeUsers, networkUsers, volumeUsers } from './usage.ts';
import type { ContainerCounts, ImageUser } from './usage.ts';
import { topContainer } from './top.ts';
import { unpauseContainer } from './unpause.ts';
import { updateContainer } from './update.ts';
import { waitContainer } from './wait.ts';
import { Waiters } from './waiters.ts';

/**
 * All containers of this daemon. One file per verb does the work; this class is their lifetime.
 *
 *   const containers = new Containers(deps);
 *   await containers.restore();      // before the first client
 *   ...
 *   containers.close();              // containers run on; only this daemon's part ends
 */
export class Containers implements ContainerPort {
  readonly #context: ContainerContext;
  readonly #health: HealthMonitors;
  #exits: Disposable | undefined;

  constructor(deps: ContainersDeps) {
    const registry = new Registry();
    const waiters = new Waiters();
    const turns = new Turns();
    this.#context = {
      ...deps,
      registry,
      waiters,
      machine: new Machine({
        journal: deps.journal,
        containers: deps.table,
        registry,
        waiters,
        changed: (container) => this.#health.follow(container),
      }),
      mutex: new KeyedMutex(),
      starts: new Semaphore(limits.startConcurrency),
      turns,
      sampler: containerSampler({ ...deps, turns }),
      volumePaths: new Map(),
    };
    this.#health = new HealthMonitors(this.#context);
  }

  /** Takes over, settles and sweeps what the last daemon left. Call it once, with volumes and images ready. */
  async restore(): Promise<void> {
    this.#exits = await restoreContainers(this.#context);
    this.#health.resume(this.#context.registry.all());
  }

  /** Stops listening and counting; touches no container. */
  close(): void {
    this.#exits?.[Symbol.dispose]();
    this.#health.close();
    this.#context.logs.close();
    for (const container of this.#context.registry.all()) {
      cancelRestart(container);
    }
  }

  // ---------------------------------------------------------------------------------------------- ContainerPort

  create(
    name: string | undefined,
    body: ContainerCreateRequest,
    options: { platform?: string; signal: AbortSignal; keepUntil?: AbortSignal },
  ): Promise<ContainerCreateResponse> {
    return createContainer(this.#context, name, body, options);
  }

  inspect(ref: string, options: { size: boolean }): Promise<ContainerInspect> {
    return inspectContainer(this.#context, ref, options);
  }

  list(options: ListContainersOptions): Promise<ContainerSummary[]> {
    return listContainers(this.#context, options);
  }

  start(ref: string, options: { detachKeys?: string }): Promise<void> {
    return startContainer(this.#context, ref, options);
  }

  stop(ref: string, options: StopOptions): Promise<void> {
    return stopContainer(this.#context, ref, options);
  }

  restart(ref: string, options: StopOptions): Promise<void> {
    return restartContainer(this.#context, ref, options);
  }

  kill(ref: string, options: { signal?: string }): Promise<void> {
    return killContainer(this.#context, ref, options);
  }

  wait(
    ref: string,
    options: { condition: WaitCondition; signal: AbortSignal },
  ): Promise<{ done: Promise<WaitResponse> }> {
    return waitContainer(this.#context, ref, options);
  }

  update(ref: string, body: ContainerUpdateRequest): Promise<ContainerUpdateResponse> {
    return updateContainer(this.#context, ref, body);
  }

  top(ref: string, psArguments: string): Promise<ContainerTop> {
    return topContainer(this.#context, ref, psArguments);
  }

  stats(ref: string, options: { oneShot: boolean; signal: AbortSignal }): Promise<ContainerStats> {
    return containerStats(this.#context, ref, options);
  }

  statsStream(ref: string, options: { signal: AbortSignal }): AsyncIterable<ContainerStats> {
    return containerStatsStream(this.#context, ref, options);
  }

  pause(ref: string): Promise<void> {
    return pauseContainer(this.#context, ref);
  }

  unpause(ref: string): Promise<void> {
    return unpauseContainer(this.#context, ref);
  }

  rename(ref: string, newName: string): Promise<void> {
    return renameContainer(this.#context, ref, newName);
  }

  remove(ref: string, options: RemoveOptions & { link: boolean }): Promise<void> {
    return removeContainer(this.#context, ref, options);
  }

  prune(filters: Filters): Promise<ContainerPruneReport> {
    return pruneContainers(this.#context, filters);
  }

  connectNetwork(networkRef: string, ref: string, endpoint: EndpointSettings): Promise<void> {
    return connectNetwork(this.#context, networkRef, ref, endpoint);
  }

  disconnectNetwork(networkRef: string, ref: string, options: { force: boolean }): Promise<void> {
    return disconnectNetwork(this.#context, networkRef, ref, options);
  }

  resize(ref: string, size: { height: number; width: number }): Promise<void> {
    return resizeContainer(this.#context, ref, size);
  }

  logs(ref: string, options: LogsOptions): Promise<ByteStream> {
    return containerLogs(this.#context, ref, options);
  }

  attach(ref: string, options: AttachOptions): Promise<Conversation> {
    return attachContainer(this.#context, ref, options);
  }

  statPath(ref: string, path: string): Promise<PathStat> {
    return statContainerPath(this.#context, ref, path);
  }

  getArchive(ref: string, path: string): Promise<{ stat: PathStat; tar: Readable }> {
    return getContainerArchive(this.#context, ref, path);
  }

  putArchive(ref: string, path: string, body: Readable, options: PutArchiveOptions): Promise<void> {
    return putContainerArchive(this.#context, ref, path, body, options);
  }

  export(ref: string): Promise<Readable> {
    return exportContainer(this.#context, ref);
  }

  changes(ref: string): Promise<ContainerChange[]> {
    return containerChanges(this.#context, ref);
  }

  commit(ref: string, request: CommitContainerRequest): Promise<{ Id: string }> {
    return commitContainer(this.#context, ref, request);
  }

  // ---------------------------------------------------------------------------------------------- neighbours

  /** What a container changed of its image's files, as the tar of a layer. */
  layerOf(ref: string, signal: AbortSignal): Promise<Snapshot> {
    return snapshot(this.#context, this.#context.registry.find(ref), signal);
  }

  /** A running container as exec needs it. Throws conflict with dockerd's texts when it does not run. */
  execTarget(ref: string): ContainerExecTarget {
    return execTarget(this.#context, ref);
  }

  /** The name of a container by its full id; undefined when there is none. */
  nameOf(id: string): string | undefined {
    return this.#context.registry.get(id)?.name;
  }

  imageUsers(imageId: string): ImageUser[] {
    return imageUsers(this.#context.registry, imageId);
  }

  volumeUsers(volumeName: string): string[] {
    return volumeUsers(this.#context.registry, volumeName);
  }

  liveVolumeUsers(volumeName: string): string[] {
    return liveVolumeUsers(this.#context.registry, volumeName);
  }

  networkUsers(networkName: string): string[] {
    return networkUsers(this.#context.registry, networkName);
  }

  counts(): ContainerCounts {
    return countContainers(this.#context.registry);
  }
}
