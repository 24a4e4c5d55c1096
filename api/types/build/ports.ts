import type { Readable } from 'node:stream';
import type { BuildContainersPort } from './containers.ts';
import type { BuildDefinition } from './definition.ts';
import type { HistoryPort } from './history.ts';
import type { AskedOutput, BuildSession, SentStat } from './session.ts';
import type { SourcePolicy } from './source-policy.ts';
import type { AnsweredImage, AnsweredSource, ImageQuestion, SourceQuestion } from './sources.ts';
import type { BuildUpdate, BuildWarning } from './status.ts';

/** A cache outside the engine, as a client names it: `registry` with `ref`, `local` with `dest`. */
export interface NamedCache {
  type: string;
  attributes: ReadonlyMap<string, string>;
}

/** What a client of BuildKit asks to be solved. */
export interface SolveRequest {
  /** Chosen by the client. */
  ref: string;
  session: string;
  /** `''`: the client is the frontend itself, and returns a result by `returnResult`. */
  frontend: string;
  attributes: ReadonlyMap<string, string>;
  exporters: readonly AskedOutput[];
  /** The client is asked for further ones when something is made. */
  hasSessionExporters: boolean;
  cacheExports: readonly NamedCache[];
  cacheImports: readonly NamedCache[];
  entitlements: readonly string[];
  /** A graph to be solved as it is, where no frontend is named. */
  definition?: BuildDefinition;
  /** Results of other builds and sources of the client, as inputs of the frontend, by name. */
  inputs: ReadonlyMap<string, BuildDefinition>;
  /** A question of the client itself, of which nothing is kept. */
  isInternal: boolean;
  /** Of all sources of the build. */
  policies: readonly SourcePolicy[];
  /** A session that is asked for each source besides; `''` = none. */
  policySession: string;
  /** What the client traces it by; undefined = it does not. */
  trace: TraceParent | undefined;
}

/** Of the W3C's `traceparent`, in hexadecimal digits. */
export interface TraceParent {
  trace: string;
  span: string;
}

export interface FrontendRequest {
  frontend: string;
  options: ReadonlyMap<string, string>;
  /** A graph to be solved as it is, where no frontend is named. */
  definition?: BuildDefinition;
  /** A graph that fails is a result, too: whoever reads or returns it is told of the failure. */
  failsWhenRead?: boolean;
  inputs: ReadonlyMap<string, BuildDefinition>;
  cacheImports?: readonly NamedCache[];
  /** Besides those of the build. */
  policies?: readonly SourcePolicy[];
}

/** A result of a build. */
export interface ResultRef {
  ref: string;
  /** The result as a graph, to be an input of another build; `digest` of its first operation. */
  definition?: { operations: readonly Buffer[]; digest: string };
}

/** What a frontend made; `ref` empty = nothing, or a result for each of `platforms`, by its name: `linux/arm64`. */
export interface FrontendResult extends ResultRef {
  metadata: ReadonlyMap<string, Buffer>;
  platforms?: ReadonlyMap<string, ResultRef>;
}

/** What a client has decided on; the configuration is for a result that has none. */
export interface ReturnedResult {
  ref: string;
  config?: Buffer;
}

/** What a client has made of its build: a result for each platform, the result, nothing, or an error. */
export type ReturnedOutcome =
  | { results: readonly ReturnedResult[]; isByPlatform: boolean }
  | { error: Error };

/** A build by POST /build?version=2. */
export interface SessionBuildRequest {
  id: string;
  session: string;
  attributes: ReadonlyMap<string, string>;
  outputs: readonly { type: string; attributes: ReadonlyMap<string, string> }[];
  /** The context as a stream, or one that comes by `upload` under the same id; undefined = one of the session. */
  context?: Readable | 'upload';
}

export interface UsageEntry {
  id: string;
  /** As BuildKit's clients name them: `regular`, `source.local`, `exec.cachemount`. */
  type: string;
  parents: readonly string[];
  bytes: number;
  createdMs: number;
  /** Undefined: nobody counts. */
  lastUsedMs?: number;
  usageCount: number;
  description: string;
  inUse: boolean;
  isShared: boolean;
  isMutable: boolean;
}

/** What of the cache of builds is to go. */
export interface CachePruning {
  /** Each a list of conditions by commas, as containerd's filters are; one that is met is enough. */
  filters: readonly string[];
  /** What images have, too, and what is the engine's own. */
  isAll: boolean;
  /** Only what was not used for so long. */
  unusedMs: number;
  /** So much stays in any case; above the second something goes, and below the third of the disk. 0 = not said. */
  reservedBytes: number;
  usedBytesMax: number;
  freeBytesMin: number;
}

export interface BuildWorker {
  id: string;
  platforms: readonly { os: string; architecture: string; variant?: string }[];
  version: string;
  /** The address that clients put in place of `host-gateway` (`--add-host`). */
  hostGateway?: string;
  /** By which results of builds go by themselves, one rule after another. */
  policy: readonly BuildCollectRule[];
}

/** Bytes are 0 where nothing is bound. */
export interface BuildCollectRule {
  /** Internal results and what images have, too. */
  isAll: boolean;
  /** Each a list of conditions, of which one must let a result through. */
  filters: readonly string[];
  /** Only what was not used for so long. */
  unusedMs: number;
  reservedBytes: number;
  usedBytesMax: number;
  freeBytesMin: number;
}

/**
 * Builds as BuildKit's clients ask for them. Throws EngineError; of a build that failed BuildError
 * (daemon/base/build-error.ts).
 */
export interface BuildkitPort {
  worker(): BuildWorker;
  /** Throws before a client is told that it has a session. */
  refuseSession(id: string): void;
  /** Resolves when the session is over. */
  attachSession(session: BuildSession & { end(): void }): Promise<void>;
  /** Lasts as long as the build; answers what exporters tell. */
  solve(request: SolveRequest, signal: AbortSignal): Promise<ReadonlyMap<string, string>>;
  /**
   * From the build's beginning to its end. Waits a moment for the build. One that ended earlier is told as it was
   * stored: messages as they are sent.
   */
  status(ref: string, signal: AbortSignal): AsyncIterable<BuildUpdate | Buffer>;
  readonly history: HistoryPort;
  readonly containers: BuildContainersPort;
  /** Throws not_found where there is no such build, nor comes soon. */
  ping(ref: string, signal: AbortSignal): Promise<void>;
  solveFrontend(ref: string, request: FrontendRequest, signal: AbortSignal): Promise<FrontendResult>;
  returnResult(ref: string, outcome: ReturnedOutcome, signal: AbortSignal): Promise<void>;
  /** Tells those who read the status of what the client warns of. Throws resource_exhausted. */
  warn(ref: string, warning: BuildWarning, signal: AbortSignal): Promise<void>;
  /** Graphs that the client gave its own build as inputs, by name. */
  inputs(ref: string, signal: AbortSignal): Promise<ReadonlyMap<string, BuildDefinition>>;
  resolveImage(ref: string, question: ImageQuestion, signal: AbortSignal): Promise<AnsweredImage>;
  resolveSource(ref: string, question: SourceQuestion, signal: AbortSignal): Promise<AnsweredSource>;
  /** Of a result of the build, by its reference. Throws not_found. */
  readResult(
    ref: string,
    at: { result: string; path: string; offset: number; length: number },
    signal: AbortSignal,
  ): Promise<Buffer>;
  statResult(ref: string, at: { result: string; path: string }, signal: AbortSignal): Promise<SentStat>;
  /** `pattern`: only names that match it; `''` = all. */
  listResult(
    ref: string,
    at: { result: string; path: string; pattern: string },
    signal: AbortSignal,
  ): Promise<SentStat[]>;
  usage(filters?: readonly string[]): Promise<UsageEntry[]>;
  prune(pruning: CachePruning): Promise<UsageEntry[]>;
  /** `image` resolves with the image's id when the updates are over. */
  build(
    request: SessionBuildRequest,
    signal: AbortSignal,
  ): { updates: AsyncIterable<BuildUpdate>; image: Promise<string> };
  /** The context of a build by this id, which waits for it or is about to. Resolves when it is read. */
  upload(id: string, body: Readable, signal: AbortSignal): Promise<void>;
  cancel(id: string): void;
}
