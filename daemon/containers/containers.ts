import type { Readable } from 'node:stream';
import type {
  AttachOptions,
  CommitContainerRequest,
  ContainerPort,
  Conversation,
  ListContainersOptions,
  PutArchiveOptions,
  StopOptions,
  WaitCondition,
} from '../../api/types/ports.ts';
import type { ByteStream, Filters, LogsOptions } from '../../api/types/requests.ts';
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
import { connectNetwork, disconnectNetwork } from './verbs/connect.ts';
import type { ExecCreateRequest } from '../../api/types/exec.ts';
import type { OpenFile } from '../base/kernel/files/safepath.ts';
import { limits } from '../base/limits.ts';
import { measured } from '../base/measured.ts';
import { KeyedMutex } from '../base/concurrency/mutex.ts';
import type { ChangesTar } from '../../storage/files/tar-spools.ts';
import { Semaphore } from '../base/concurrency/semaphore.ts';
import { Turns } from '../base/concurrency/turns.ts';
import type { ImageUser } from '../images/deps.ts';
import { attachContainer, resizeContainer } from './verbs/attach.ts';
import { commitContainer } from './verbs/commit.ts';
import type { ContainerContext, ContainersDeps } from './context.ts';
import type { ExecProcess, OwnStdio } from './stdio/process-streams.ts';
import { createContainer } from './verbs/create.ts';
import type { CreateOptions } from './verbs/create.ts';
import { execTarget } from './control/exec-target.ts';
import { execForEngine } from './control/own-exec.ts';
import { openOwnStdio } from './control/own-stdio.ts';
import type { ExecTarget } from '../execs/ports.ts';
import { HealthMonitors } from './health/health-monitors.ts';
import { getContainerArchive, putContainerArchive, statContainerPath } from './files/archive.ts';
import { containerChanges, spoolChanges } from './files/changes.ts';
import { exportContainer, openBareRoot } from './files/export.ts';
import { inspectContainer } from './views/inspect.ts';
import { killContainer } from './verbs/kill.ts';
import { listContainers } from './views/list.ts';
import { containerLogs } from './verbs/logs.ts';
import { Machine } from './state/machine.ts';
import { pauseContainer, unpauseContainer } from './verbs/pause.ts';
import { pruneContainers } from './verbs/prune.ts';
import { ContainerIndex } from './state/container-index.ts';
import type { ContainerCounts } from './state/container-index.ts';
import { removeContainer } from './verbs/remove.ts';
import type { RemoveOptions } from './verbs/remove.ts';
import { renameContainer } from './verbs/rename.ts';
import { restartContainer } from './verbs/restart.ts';
import { cancelRestart } from './state/container.ts';
import { isLive } from './state/state-facts.ts';
import { restoreContainers, whenRestored } from './lifecycle/restore.ts';
import { startContainer } from './verbs/start.ts';
import { containerSampler, containerStats, containerStatsStream } from './verbs/stats.ts';
import { stopContainer } from './verbs/stop.ts';
import { imageUsers, liveVolumeUsers, networkUsers, volumeUsers } from './resources/users.ts';
import { topContainer } from './verbs/top.ts';
import { updateContainer } from './verbs/update.ts';
import { waitContainer } from './verbs/wait.ts';
import { Waiters } from './state/waiters.ts';

/**
 * All containers of this daemon. The verbs do the work, in files named after them; this class is their lifetime.
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
    const registry = new ContainerIndex();
    const waiters = new Waiters();
    const turns = new Turns();
    this.#context = {
      ...deps,
      registry,
      waiters,
      restoring: new Map(),
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
    this.#exits = await restoreContainers(this.#context, (container) => this.#health.resume([container]));
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
    options: CreateOptions,
  ): Promise<ContainerCreateResponse> {
    return measured('container', 'create', () => createContainer(this.#context, name, body, options));
  }

  inspect(ref: string, options: { size: boolean }): Promise<ContainerInspect> {
    return this.#restored(ref, () => inspectContainer(this.#context, ref, options));
  }

  list(options: ListContainersOptions): Promise<ContainerSummary[]> {
    return listContainers(this.#context, options);
  }

  start(ref: string, options: { detachKeys?: string }): Promise<void> {
    return this.#restored(ref, () => startContainer(this.#context, ref, options));
  }

  stop(ref: string, options: StopOptions): Promise<void> {
    return this.#restored(ref, () =>
      measured('container', 'stop', () => stopContainer(this.#context, ref, options)),
    );
  }

  restart(ref: string, options: StopOptions): Promise<void> {
    return this.#restored(ref, () =>
      measured('container', 'restart', () => restartContainer(this.#context, ref, options)),
    );
  }

  kill(ref: string, options: { signal?: string }): Promise<void> {
    return this.#restored(ref, () =>
      measured('container', 'kill', () => killContainer(this.#context, ref, options)),
    );
  }

  wait(
    ref: string,
    options: { condition: WaitCondition; signal: AbortSignal },
  ): Promise<{ done: Promise<WaitResponse> }> {
    return this.#restored(ref, () => waitContainer(this.#context, ref, options));
  }

  update(ref: string, body: ContainerUpdateRequest): Promise<ContainerUpdateResponse> {
    return this.#restored(ref, () => updateContainer(this.#context, ref, body));
  }

  top(ref: string, psArguments: string): Promise<ContainerTop> {
    return this.#restored(ref, () => topContainer(this.#context, ref, psArguments));
  }

  stats(ref: string, options: { oneShot: boolean; signal: AbortSignal }): Promise<ContainerStats> {
    return this.#restored(ref, () => containerStats(this.#context, ref, options));
  }

  statsStream(ref: string, options: { signal: AbortSignal }): AsyncIterable<ContainerStats> {
    return this.#statsWhenRestored(ref, options);
  }

  pause(ref: string): Promise<void> {
    return this.#restored(ref, () => pauseContainer(this.#context, ref));
  }

  unpause(ref: string): Promise<void> {
    return this.#restored(ref, () => unpauseContainer(this.#context, ref));
  }

  rename(ref: string, newName: string): Promise<void> {
    return this.#restored(ref, () => renameContainer(this.#context, ref, newName));
  }

  remove(ref: string, options: RemoveOptions & { link: boolean }): Promise<void> {
    return this.#restored(ref, () => removeContainer(this.#context, ref, options));
  }

  prune(filters: Filters): Promise<ContainerPruneReport> {
    return pruneContainers(this.#context, filters);
  }

  connectNetwork(networkRef: string, ref: string, endpoint: EndpointSettings): Promise<void> {
    return this.#restored(ref, () => connectNetwork(this.#context, networkRef, ref, endpoint));
  }

  disconnectNetwork(networkRef: string, ref: string, options: { force: boolean }): Promise<void> {
    return this.#restored(ref, () => disconnectNetwork(this.#context, networkRef, ref, options));
  }

  resize(ref: string, size: { height: number; width: number }): Promise<void> {
    return this.#restored(ref, () => resizeContainer(this.#context, ref, size));
  }

  logs(ref: string, options: LogsOptions): Promise<ByteStream> {
    return this.#restored(ref, () => containerLogs(this.#context, ref, options));
  }

  attach(ref: string, options: AttachOptions): Promise<Conversation> {
    return this.#restored(ref, () => attachContainer(this.#context, ref, options));
  }

  statPath(ref: string, path: string): Promise<PathStat> {
    return this.#restored(ref, () => statContainerPath(this.#context, ref, path));
  }

  getArchive(ref: string, path: string): Promise<{ stat: PathStat; tar: Readable }> {
    return this.#restored(ref, () => getContainerArchive(this.#context, ref, path));
  }

  putArchive(ref: string, path: string, body: Readable, options: PutArchiveOptions): Promise<void> {
    return this.#restored(ref, () => putContainerArchive(this.#context, ref, path, body, options));
  }

  export(ref: string): Promise<Readable> {
    return this.#restored(ref, () => exportContainer(this.#context, ref));
  }

  changes(ref: string): Promise<ContainerChange[]> {
    return this.#restored(ref, () =>
      measured('container', 'changes', () => containerChanges(this.#context, ref)),
    );
  }

  commit(ref: string, request: CommitContainerRequest): Promise<{ Id: string }> {
    return this.#restored(ref, () =>
      measured('container', 'commit', () => commitContainer(this.#context, ref, request)),
    );
  }

  /** What the last daemon left of a container is settled before a verb meets it. */
  async #restored<T>(ref: string, verb: () => Promise<T>): Promise<T> {
    await whenRestored(this.#context, ref);
    return await verb();
  }

  async *#statsWhenRestored(ref: string, options: { signal: AbortSignal }): AsyncIterable<ContainerStats> {
    await whenRestored(this.#context, ref);
    yield* containerStatsStream(this.#context, ref, options);
  }

  // ---------------------------------------------------------------------------------------------- neighbours

  /** What a container changed of its image's files, as the tar of a layer; `mountPoints` that are empty are not its. */
  layerOf(
    ref: string,
    signal: AbortSignal,
    mountPoints?: Readonly<Record<string, 'directory' | 'file'>>,
  ): Promise<ChangesTar> {
    return spoolChanges(this.#context, this.#context.registry.find(ref), signal, mountPoints);
  }

  /** The stdio of the next run of a container that keeps no log, for the engine itself. */
  ownStdio(ref: string, options: { stdin: boolean }): Promise<OwnStdio> {
    return openOwnStdio(this.#context, this.#context.registry.find(ref), options);
  }

  /** A further process of which only the engine knows. */
  ownExec(ref: string, request: ExecCreateRequest): Promise<ExecProcess> {
    return execForEngine(this.#context, ref, request);
  }

  /** A container's root without what is mounted in it, to be read. */
  rootOf(ref: string): Promise<OpenFile> {
    return openBareRoot(this.#context, this.#context.registry.find(ref));
  }

  /** See ExecTargets. */
  whenRestored(ref: string): Promise<void> {
    return whenRestored(this.#context, ref);
  }

  /** A running container as exec needs it. Throws conflict with dockerd's texts when it does not run. */
  execTarget(ref: string): ExecTarget {
    return execTarget(this.#context, ref);
  }

  /** The name of a container by its full id; undefined when there is none. */
  nameOf(id: string): string | undefined {
    return this.#context.registry.get(id)?.name;
  }

  isLive(id: string): boolean {
    const container = this.#context.registry.get(id);
    return container !== undefined && isLive(container.state);
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
    return this.#context.registry.counts();
  }
}
