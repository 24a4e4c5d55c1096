import type { Duplex, Readable } from 'node:stream';
import type { ContainerConfig, ContainerCreateRequest, WaitResponse } from '../../../api/types/container.ts';
import type { ExecCreateRequest } from '../../../api/types/exec.ts';
import type { ExecProcess, OwnStdio } from '../../containers/stdio/process-streams.ts';
import type { Selected, SelectRequest } from '../../../storage/files/select.ts';
import type { ChangesTar } from '../../../storage/files/tar-spools.ts';
import type { Spool, SpoolOptions } from '../../../storage/spool/spool.ts';
import type { ContextEntry } from '../../../storage/contexts/entries.ts';
import type { SentContext } from '../../../storage/contexts/sources.ts';
import type { StepContainer } from '../../build/graph/step-container.ts';
import type { OpenFile } from '../../base/kernel/files/safepath.ts';
import type { HiddenFile } from '../../containers/request/mounts/hidden-files.ts';

/** Layers that a command is run on, and files of the engine that only it sees. */
export interface StepRoot {
  root: { id: string; layerIds: number[]; config: ContainerConfig; os: string; architecture: string };
  files: readonly HiddenFile[];
  /** `NAME=value`, of its process alone: they are in memory and in no row. */
  variables: readonly string[];
}

/** Containers that RUN needs. Satisfied by the container domain. */
export interface BuildContainers {
  create(
    name: string | undefined,
    body: ContainerCreateRequest,
    /**
     * Until `keepUntil` fires no prune takes the container. One that is `removed` after its step goes with the daemon's
     * next start, too, and each that is still at work then.
     */
    options: {
      signal: AbortSignal;
      keepUntil: AbortSignal;
      ofBuild: 'removed' | 'kept';
      /** Its root, in place of an image that has a name, and what it sees beside. */
      step?: StepRoot;
    },
  ): Promise<{ Id: string; Warnings: readonly string[] }>;
  attach(
    ref: string,
    options: { logs: boolean; stream: boolean; stdin: boolean; stdout: boolean; stderr: boolean },
  ): Promise<{ connect(socket: Duplex): Promise<void>; abandon(): void }>;
  start(ref: string, options: object): Promise<void>;
  wait(
    ref: string,
    options: { condition: 'not-running'; signal: AbortSignal },
  ): Promise<{ done: Promise<WaitResponse> }>;
  kill(ref: string, options: { signal?: string }): Promise<void>;
  resize(ref: string, size: { height: number; width: number }): Promise<void>;
  remove(ref: string, options: { volumes: boolean; force: boolean; link: boolean }): Promise<void>;
  /** Of the next run of a container that keeps no log. */
  ownStdio(ref: string, options: { stdin: boolean }): Promise<OwnStdio>;
  /** A further process. Throws as exec does. */
  ownExec(ref: string, request: ExecCreateRequest): Promise<ExecProcess>;
  /** A container's root without what is mounted in it, to be read. */
  rootOf(ref: string): Promise<OpenFile>;
  /** What a container changed of its image's files, as the tar of a layer. */
  layerOf(
    ref: string,
    signal: AbortSignal,
    /** Places that were made to mount something there: empty ones are no changes. */
    mountPoints?: Readonly<Record<string, 'directory' | 'file'>>,
  ): Promise<ChangesTar>;
}

/** Threads that walk files. Satisfied by `storage/files`. */
export interface BuildArchives {
  select(request: SelectRequest, signal?: AbortSignal): Promise<Selected[]>;
}

/** Overlays out of sight. Satisfied by `runtime/mounts`. */
export interface BuildMounts {
  hiddenView(lowers: readonly string[]): OpenFile;
}

/** Streams, on disk as they are. Satisfied by `storage/files`. */
export interface BuildSpools {
  raw(source: Readable, options: SpoolOptions): Promise<Spool>;
}

/** What a step does to the files of the image before. */
export type StepWork = {
  /** For progress. */
  name: string;
} & (
  | { kind: 'directory'; path: string }
  | {
      kind: 'copy';
      /** `path`: a pattern below the root of what it comes from. */
      sources: { from: { files: Disposable } | { imageId: string }; path: string; unpacks: boolean }[];
      /** Absolute; a slash at its end means a directory. */
      target: string;
      /** As `--chown` says it; `''` = root. */
      owner: string;
    }
  | {
      kind: 'run';
      argv: readonly string[];
      /** `NAME=value` of what it is known by: the image's variables, and arguments of the build. */
      env: readonly string[];
      directory: string;
      /** `''` = root. */
      user: string;
      /** The image has volumes. */
      hasVolumes: boolean;
      container: StepContainer;
    }
);

/** Layers, bottom first, kept until it is disposed of. */
export interface SolvedStep extends Disposable {
  layerIds: readonly number[];
  isCached: boolean;
}

/** A context that has come; `files` is what copies name, disposed of it goes when the last step that reads it ends. */
export interface ReceivedContext {
  /** The text of the Dockerfile, which need not be among the files. */
  dockerfile: string;
  context: SentContext;
  files: Disposable;
}

/** A file that ADD names by its URL, root's, mode 0600, of the time that the server says. */
export interface DownloadedFile {
  entry: ContextEntry;
  fd: number;
  files: Disposable;
}

/** Gets files for builds from clients and the web. Satisfied by `daemon/build/classic`. */
export interface BuildFiles {
  /** A tar that a client sends, or what is where it says. Where it throws nothing of it is left. */
  context(
    from: { body: Readable } | { remote: string },
    options: { dockerfile: string; signal: AbortSignal },
  ): Promise<ReceivedContext>;
  download(
    url: URL,
    options: {
      signal: AbortSignal;
      /** The server answers; `''`: neither URL nor server has a name for the file. What it throws ends the download. */
      named: (name: string) => void;
      /** So far; `total` undefined = the server does not say. */
      came(bytes: number, total: number | undefined): void;
    },
  ): Promise<DownloadedFile>;
}

/** Does the work of steps. Satisfied by the solver of `daemon/build`. */
export interface StepSolver {
  /** Throws what the work throws. */
  solve(
    /** `parentId` `''`: on nothing. `isFresh`: results of earlier builds are not taken. */
    step: { parentId: string; work: StepWork; isFresh: boolean },
    signal: AbortSignal,
  ): Promise<SolvedStep>;
}

export interface BuildDeps {
  containers: BuildContainers;
  archives: BuildArchives;
  mounts: BuildMounts;
  spools: BuildSpools;
  /** A directory of ours that is emptied at each start of the daemon. */
  temporary: string;
}

/** What gets the files of classic builds, and does their steps. */
export interface ClassicDeps {
  files: BuildFiles;
  solver: StepSolver;
}
