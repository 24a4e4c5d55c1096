import type { Vertex } from '../graph/op.ts';
import type { UsedSource } from '../graph/used-source.ts';

/** A tree of files that somebody holds. Until it is disposed of nothing of it is removed. */
export interface HeldTree extends Disposable {
  /** The same tree, held once more. */
  hold(): this;
}

/** Lines of a step: 1 is standard output, 2 standard error. */
export type LogStream = 1 | 2;

/** A piece of work within a vertex: `sha256:..` of a pull, `transferring context`. */
export interface VertexWork {
  name: string;
  current: number;
  /** Undefined where nobody knows it. */
  total?: number;
  isDone: boolean;
}

/** What is told of the vertices of one build. One may start and end more than once: for its key, and to run. */
export interface SolveProgress {
  started(vertex: Vertex): void;
  /** Its result is one of an earlier build, or was not needed at all. */
  cached(vertex: Vertex): void;
  /** `error`: of its own, or `context canceled` where the build ended before it did. */
  completed(vertex: Vertex, error?: string): void;
  log(vertex: Vertex, stream: LogStream, bytes: Uint8Array): void;
  work(vertex: Vertex, work: VertexWork): void;
}

/** The build that an operation runs for, or all that wait for it. */
export interface RunContext {
  /** Fires when nothing more comes of it: of a key also at the end of its build. */
  signal: AbortSignal;
  /** Of the builds that wait for it now, the longest waiting first: secrets and credentials come from there. */
  sessions(): readonly string[];
  log(stream: LogStream, bytes: Uint8Array): void;
  work(work: VertexWork): void;
  /** What a source has turned out to be. */
  used(source: UsedSource): void;
  /** Somebody wants to look into what a command that fails leaves. */
  isLookedInto?(): boolean;
}

/** `isLasting` is false of what no other build can mean: files of a client. */
export interface SourceKey {
  key: string;
  isLasting: boolean;
}

/** What vertices are known by. */
export interface SolverKeys {
  /** Of a source as it is now: a manifest's digest, a commit. It may ask the network. */
  ofSource(vertex: Vertex, context: RunContext): Promise<SourceKey>;
  /** Of an operation on inputs known by these keys; undefined = an empty tree. Names and places do not count. */
  ofOperation(vertex: Vertex, inputs: readonly (string | undefined)[]): string;
  /**
   * Of an operation on what its inputs have turned out to be, however they were made: `known` has their keys, by
   * contents where the operation reads only files of one. Undefined where it stands on what has no such key.
   */
  ofResults(
    vertex: Vertex,
    known: readonly (string | undefined)[],
    inputs: readonly (HeldTree | undefined)[],
  ): string | undefined;
  /** Of what the operation reads of the tree at this position, whatever else is in it. */
  ofContent(vertex: Vertex, position: number, tree: HeldTree, signal: AbortSignal): Promise<string>;
}

/** Results of earlier builds. */
export interface SolverCache<T extends HeldTree> {
  /**
   * With all results that the taker has. `taker`: what it is the result of; undefined = of something that is known by
   * another key, too.
   */
  find(key: string, taker?: Vertex): Promise<T | undefined>;
  /** From its return on `find` knows it. The caller goes on holding `tree`. */
  store(key: string, tree: T, vertex: Vertex): Promise<void>;
  /** From now on `other` leads to the result of `key`, which is stored, and to no older one. */
  link(other: string, key: string): void;
  /** The key by contents of an operation whose inputs were known by these keys before. */
  findContentKey(definitionKey: string): string | undefined;
  storeContentKey(definitionKey: string, contentKey: string): void;
}

/** Results of builds elsewhere, that one build may take. */
export interface SolverImports<T extends HeldTree> {
  /** Brings it here, so that the cache knows it from then on. Undefined: there is none, or it could not be had. */
  find(key: string, vertex: Vertex, context: RunContext): Promise<T | undefined>;
  findContentKey(definitionKey: string): string | undefined;
}

/** What a vertex was known by in one build. */
export interface VertexKeys {
  key: string;
  /**
   * By what its inputs are known by: leads to `key` where that is of what it reads of them. Undefined where no other
   * build means the same by it.
   */
  definitionKey: string | undefined;
  /** Another build, elsewhere too, may come to the same key. */
  isLasting: boolean;
}

/** Does operations. */
export interface SolverOps<T extends HeldTree> {
  /** Once for each graph, before anything of it runs. */
  begin?(targets: readonly (Vertex | undefined)[]): Promise<void>;
  /** `inputs` are the caller's; the answer is held by the caller alone. */
  run(vertex: Vertex, inputs: readonly (T | undefined)[], context: RunContext): Promise<T>;
}

export interface SolverDeps<T extends HeldTree> {
  keys: SolverKeys;
  cache: SolverCache<T>;
  ops: SolverOps<T>;
  /** Operations that run at a time, of all builds. */
  runsMax: number;
}

/** One build. */
export interface SolveRequest<T extends HeldTree = HeldTree> {
  /** Its id, for secrets and the like. */
  session: string;
  progress: SolveProgress;
  /** How the error of a step is told; undefined = by its message. */
  describe?(error: unknown): string | undefined;
  signal: AbortSignal;
  imports?: SolverImports<T>;
  /** Told of each operation, once. */
  keyed?: (vertex: Vertex, keys: VertexKeys) => void;
  /** Told of what a step failed with, at once: what that holds is given back when all who waited have been told. */
  failed?: ((error: unknown) => void) | undefined;
  /** Told of each source that counts, at least once. */
  used?: ((source: UsedSource) => void) | undefined;
}

export function release(trees: readonly (Disposable | undefined)[]): void {
  for (const tree of trees) {
    tree?.[Symbol.dispose]();
  }
}
