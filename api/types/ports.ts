/**
 * What the HTTP edge needs from the engine. `api` declares it, `daemon/*` satisfies it structurally, and
 * `daemon/boot/compose.ts` is where the compiler checks that it does. Shapes are those of API 1.55.
 *
 * Every method throws `EngineError` (daemon/base/errors.ts) with a message fit for the client.
 * `ref` is a full id, a name (with or without the leading slash) or a unique id prefix.
 */
import type { Duplex, Readable } from 'node:stream';
import type {
  ContainerChange,
  ContainerConfig,
  ContainerCreateRequest,
  ContainerCreateResponse,
  ContainerInspect,
  ContainerPruneReport,
  ContainerSummary,
  ContainerUpdateRequest,
  ContainerUpdateResponse,
  PathStat,
  WaitResponse,
} from './container.ts';
import type { ExecCreateRequest, ExecInspect } from './exec.ts';
import type { EndpointSettings } from './endpoint.ts';
import type { HostConfig } from './host-config.ts';
import type { ByteStream, Filters, LogsOptions } from './requests.ts';
import type { SwarmPort } from './swarm/ports.ts';
import type { BuildkitPort, CachePruning } from './build/ports.ts';
import type { ContainerStats, ContainerTop } from './container-stats.ts';
import type {
  AttestationStatement,
  DistributionInspect,
  BuildPruneReport,
  ImageDeleteItem,
  ImageHistoryItem,
  ImageInspect,
  ImagePlatform,
  LegacyImage,
  ImageSearchItem,
  ImagePruneReport,
  ImageSummary,
  ProgressMessage,
  RegistryAuth,
} from './image.ts';
import type {
  DiskUsage,
  DiskUsageType,
  AuthRequest,
  AuthResponse,
  EventMessage,
  LegacyInfo,
  NetworkCreateRequest,
  NetworkCreateResponse,
  NetworkInspect,
  NetworkPruneReport,
  SystemInfo,
  VersionResponse,
  VolumeCreateRequest,
  VolumePruneReport,
  VolumeView,
} from './system.ts';

/** What the listener of metrics serves. */
export interface MetricsPort {
  readonly contentType: string;
  /** All metrics as they are now. */
  text(): Promise<string>;
}

export interface ListContainersOptions {
  all: boolean;
  limit: number;
  since?: string;
  before?: string;
  size: boolean;
  filters: Filters;
}

export interface AttachOptions {
  logs: boolean;
  stream: boolean;
  stdin: boolean;
  stdout: boolean;
  stderr: boolean;
  detachKeys?: string;
  /** Output of both streams as it comes, never in frames. */
  unframed?: boolean;
}

/**
 * A hijacked conversation. `connect` is called once, after the edge has sent its 101/200 head; from then on the engine
 * reads stdin from `socket` (its end = end of input) and writes output to it (raw when `tty`, framed otherwise), and
 * ends it when output is over. It resolves when the conversation is over and never rejects.
 */
export interface Conversation {
  tty: boolean;
  connect(socket: Duplex): Promise<void>;
  /** The edge could not hijack: release what was reserved. */
  abandon(): void;
}

export interface CommitContainerRequest {
  /** Stop the container's processes meanwhile, if it runs. */
  pause: boolean;
  /** Replaces the container's configuration where it says something. */
  config?: ContainerConfig;
  /** Dockerfile instructions. */
  changes: readonly string[];
  author: string;
  comment: string;
  /** `''`: the image gets no name. */
  repo: string;
  tag: string;
  signal: AbortSignal;
}

/** What POST /build is asked for; the context comes beside it. */
export interface BuildRequest {
  /** Where the context is to be got from; `''` = the client sends it. */
  remote: string;
  /** Path of the Dockerfile in the context. */
  dockerfile: string;
  /** Names of the image. */
  tags: readonly string[];
  quiet: boolean;
  nocache: boolean;
  pull: boolean;
  /** Remove containers of steps that went well; of all steps. */
  rm: boolean;
  forcerm: boolean;
  /** null: not set, as if it was not given. */
  args: ReadonlyMap<string, string | null>;
  labels: Readonly<Record<string, string>>;
  /** Of the containers that RUN needs. */
  hostConfig: HostConfig;
  /** Images that are the cache, instead of all that was built here. */
  cacheFrom: readonly string[];
  /** Name or number of the stage to end with; `''` = the last. */
  target: string;
  platform?: string;
  /** Credentials by registry, as the client knows them. */
  auths: Readonly<Record<string, RegistryAuth>>;
  signal: AbortSignal;
}

export interface StopOptions {
  /** Seconds until SIGKILL; undefined = the container's own, then 10; negative = never. */
  timeoutS?: number;
  signal?: string;
}

export interface PutArchiveOptions {
  noOverwriteDirNonDir: boolean;
  /** What is made belongs to the container's user. */
  copyUIDGID: boolean;
  signal: AbortSignal;
}

export type WaitCondition = 'not-running' | 'next-exit' | 'removed';

export interface ContainerPort {
  create(
    name: string | undefined,
    body: ContainerCreateRequest,
    options: { platform?: string; signal: AbortSignal },
  ): Promise<ContainerCreateResponse>;
  inspect(ref: string, options: { size: boolean }): Promise<ContainerInspect>;
  list(options: ListContainersOptions): Promise<ContainerSummary[]>;
  start(ref: string, options: { detachKeys?: string }): Promise<void>;
  stop(ref: string, options: StopOptions): Promise<void>;
  restart(ref: string, options: StopOptions): Promise<void>;
  kill(ref: string, options: { signal?: string }): Promise<void>;
  /** Resolves once the wait is registered (headers may go out); `done` resolves at the condition. */
  wait(
    ref: string,
    options: { condition: WaitCondition; signal: AbortSignal },
  ): Promise<{ done: Promise<WaitResponse> }>;
  /** Throws conflict when it does not run. */
  top(ref: string, psArguments: string): Promise<ContainerTop>;
  /** Takes a second, for two samples; with `oneShot` only one is taken. */
  stats(ref: string, options: { oneShot: boolean; signal: AbortSignal }): Promise<ContainerStats>;
  /** Each second, until it is removed or `signal`. Throws not_found at once. */
  statsStream(ref: string, options: { signal: AbortSignal }): AsyncIterable<ContainerStats>;
  update(ref: string, body: ContainerUpdateRequest): Promise<ContainerUpdateResponse>;
  pause(ref: string): Promise<void>;
  unpause(ref: string): Promise<void>;
  rename(ref: string, newName: string): Promise<void>;
  remove(ref: string, options: { volumes: boolean; force: boolean; link: boolean }): Promise<void>;
  prune(filters: Filters): Promise<ContainerPruneReport>;
  connectNetwork(networkRef: string, ref: string, endpoint: EndpointSettings): Promise<void>;
  /** `force`: also from a network that is gone. */
  disconnectNetwork(networkRef: string, ref: string, options: { force: boolean }): Promise<void>;
  resize(ref: string, size: { height: number; width: number }): Promise<void>;
  logs(ref: string, options: LogsOptions): Promise<ByteStream>;
  attach(ref: string, options: AttachOptions): Promise<Conversation>;
  statPath(ref: string, path: string): Promise<PathStat>;
  /** The tar ends early when the files cannot be read; destroying it releases what it holds. */
  getArchive(ref: string, path: string): Promise<{ stat: PathStat; tar: Readable }>;
  /** `body` is a tar, plain or compressed by gzip, bzip2, xz or zstd. */
  putArchive(ref: string, path: string, body: Readable, options: PutArchiveOptions): Promise<void>;
  export(ref: string): Promise<Readable>;
  changes(ref: string): Promise<ContainerChange[]>;
  /** Makes an image of its files and configuration. */
  commit(ref: string, request: CommitContainerRequest): Promise<{ Id: string }>;
}

export interface ExecPort {
  create(containerRef: string, body: ExecCreateRequest): Promise<{ Id: string }>;
  /** Detached: resolves with undefined when the command has started. */
  start(
    id: string,
    options: { detach: boolean; tty: boolean; consoleSize?: [number, number] },
  ): Promise<Conversation | undefined>;
  resize(id: string, size: { height: number; width: number }): Promise<void>;
  inspect(id: string): Promise<ExecInspect>;
}

export interface PullOptions {
  name: string;
  /** A tag or a digest. */
  tag?: string;
  /** `os[/architecture[/variant]]`; this host's by default. */
  platform?: string;
  /**
   * The image gets no name, only the digest of its own manifest, and is told by both: what has the name already keeps
   * it. One that has no index is then taken as it is, whatever its platform.
   */
  unnamed?: (imageId: string, digest: string) => void;
  auth: RegistryAuth;
  signal: AbortSignal;
}

export interface PushOptions {
  tag?: string;
  platform?: ImagePlatform;
  auth: RegistryAuth;
  signal: AbortSignal;
}

export interface ImportOptions {
  repo: string;
  tag: string;
  message: string;
  changes: readonly string[];
  platform?: string;
  signal: AbortSignal;
}

export interface ImagePort {
  list(options: {
    all: boolean;
    filters: Filters;
    sharedSize: boolean;
    digests: boolean;
    manifests: boolean;
    /** In the manifests. */
    identity: boolean;
  }): Promise<ImageSummary[]>;
  /** `platform`: throws not_found where the image is for another one; also of the others below. */
  inspect(ref: string, options: { platform?: ImagePlatform; manifests: boolean }): Promise<ImageInspect>;
  /** Of the same image; asked for in the same turn of the event loop. */
  legacy(ref: string, options: { platform?: ImagePlatform }): Promise<LegacyImage>;
  /**
   * What is said of the image for a platform, without one of that for this host. `types`: only predicates of these,
   * none = all. `statement`: with the statements themselves.
   */
  attestations(
    ref: string,
    options: { platform?: ImagePlatform; types: readonly string[]; statement: boolean },
  ): Promise<AttestationStatement[]>;
  history(ref: string, options: { platform?: ImagePlatform }): Promise<ImageHistoryItem[]>;
  tag(ref: string, target: { repo: string; tag: string }): Promise<void>;
  remove(
    ref: string,
    options: { force: boolean; noprune: boolean; platforms: readonly ImagePlatform[] },
  ): Promise<ImageDeleteItem[]>;
  prune(filters: Filters): Promise<ImagePruneReport>;
  /** Reads a tarball and yields progress; an error before the first message is thrown by the first `next()`. */
  load(
    tar: Readable,
    options: { quiet: boolean; platforms: readonly ImagePlatform[]; signal: AbortSignal },
  ): AsyncIterable<ProgressMessage>;
  /**
   * Fetches an image, or all tags of a repository when `name` and `tag` name none, and yields progress; an error before
   * the first message is thrown by the first `next()`: not_found, unauthorized, unavailable.
   */
  pull(options: PullOptions): AsyncIterable<ProgressMessage>;
  /**
   * Pushes an image to the registry of its name, or all tags of the name without `tag`. Yields progress as `pull` does;
   * the last message of each tag has `aux` with Tag, Digest and Size.
   */
  push(name: string, options: PushOptions): AsyncIterable<ProgressMessage>;
  /** A tar stream with all named images. Throws not_found before the first byte. */
  save(
    refs: readonly string[],
    options: { platforms: readonly ImagePlatform[]; signal: AbortSignal },
  ): Promise<Readable>;
  /** `source`: a tar, or the URL of one as the client wrote it. */
  import(source: Readable | string, options: ImportOptions): AsyncIterable<ProgressMessage>;
}

export interface BuildPort {
  /** Builds an image of the tar of a context; an error before the first message is thrown by the first `next()`. */
  build(context: Readable, request: BuildRequest): AsyncIterable<ProgressMessage>;
  /** Removes what builds keep for the next ones, and images that build steps made and nothing refers to. */
  prune(
    filters: Filters,
    bounds: Pick<CachePruning, 'isAll' | 'reservedBytes' | 'usedBytesMax' | 'freeBytesMin'>,
  ): Promise<BuildPruneReport>;
}

/** Networks of this host and of its swarm. */
export interface NetworkPort {
  list(filters: Filters): Promise<NetworkInspect[]>;
  inspect(ref: string, options: { scope?: string; verbose?: boolean }): Promise<NetworkInspect>;
  create(body: NetworkCreateRequest): Promise<NetworkCreateResponse>;
  remove(ref: string): Promise<void>;
  prune(filters: Filters): Promise<NetworkPruneReport>;
}

export interface VolumePort {
  list(filters: Filters): Promise<{ Volumes: VolumeView[]; Warnings: string[] | null }>;
  create(body: VolumeCreateRequest): Promise<VolumeView>;
  inspect(name: string): Promise<VolumeView>;
  remove(name: string, options: { force: boolean }): Promise<void>;
  prune(filters: Filters): Promise<VolumePruneReport>;
}

export interface EventStreamOptions {
  /** UNIX time in nanoseconds. */
  since?: bigint;
  until?: bigint;
  filters: Filters;
  signal: AbortSignal;
}

export interface EventPort {
  /**
   * Past events from `since`, then live ones until `until` or `signal`. Throws resource_exhausted when the reader is
   * too slow. Wrong filters must be thrown by the call or by the first `next()`, within one turn of the event loop.
   */
  stream(options: EventStreamOptions): AsyncIterable<EventMessage>;
}

export interface SystemPort {
  /** Without what `SwarmPort` tells. */
  info(): Promise<Omit<SystemInfo, 'Swarm'> & LegacyInfo>;
  version(): Promise<VersionResponse>;
  diskUsage(types: ReadonlySet<DiskUsageType>): Promise<DiskUsage>;
}

export interface SearchOptions {
  term: string;
  limit?: number;
  filters: Filters;
  auth: RegistryAuth;
  signal: AbortSignal;
}

export interface RegistryPort {
  /** Tries credentials at a registry. Throws unauthorized, or unavailable when it does not answer. */
  login(request: AuthRequest, signal: AbortSignal): Promise<AuthResponse>;
  /** Asks a registry what a name is. Throws not_found, unauthorized, forbidden or unavailable. */
  distribution(ref: string, auth: RegistryAuth, signal: AbortSignal): Promise<DistributionInspect>;
  /** Repositories of a registry by a word; `host/word` asks that registry, a word alone Docker Hub. */
  search(options: SearchOptions): Promise<ImageSearchItem[]>;
}

export interface EnginePorts {
  containers: ContainerPort;
  execs: ExecPort;
  images: ImagePort;
  builds: BuildPort;
  buildkit: BuildkitPort;
  networks: NetworkPort;
  volumes: VolumePort;
  events: EventPort;
  system: SystemPort;
  registries: RegistryPort;
  swarm: SwarmPort;
}
