import type { SentStat } from './session.ts';

/** A container that a client asks for in its build; the mounts are messages of BuildKit, `pb.Mount`. */
export interface NewBuildContainer {
  /** Chosen by the client. */
  id: string;
  mounts: readonly Buffer[];
  /** `NetMode` of BuildKit. */
  network: number;
  platform: { os: string; architecture: string; variant: string } | undefined;
  /** Conditions that a worker must meet. */
  constraints: readonly string[];
  extraHosts: readonly { host: string; ip: string }[];
  hostname: string;
}

/** A process in such a container. */
export interface NewBuildProcess {
  container: string;
  /** A message of BuildKit, `pb.Meta`. */
  meta: Buffer;
  /** Descriptors that the client has an end of. */
  fds: readonly number[];
  isTerminal: boolean;
  /** `SecurityMode` of BuildKit. */
  security: number;
  secrets: readonly { id: string; name: string; isOptional: boolean }[];
}

/** Standard output, standard error. */
export type OutputNumber = 1 | 2;

/** A process that runs. */
export interface BuildProcess {
  /** Hands what it writes to `sink`, which is waited for. Resolves at the end of it. Once only. */
  output(sink: (stream: OutputNumber, data: Buffer) => Promise<void>): Promise<void>;
  /** Resolves when more may be written; what nobody reads any more is dropped. */
  write(data: Buffer): Promise<void>;
  endInput(): void;
  /** Nothing happens where it has ended. */
  resize(size: { height: number; width: number }): Promise<void>;
  /** By name: `TERM`. Nothing happens where it has ended. Throws invalid_argument for what is no signal. */
  signal(name: string): Promise<void>;
  /** Its exit code. */
  exited: Promise<number>;
  /** Kills it with what it started; resolves when that is done. */
  end(): Promise<void>;
}

/** A place in a container of a build. */
export interface ContainerPlace {
  container: string;
  /** Position of the mount among those that were asked for. */
  mount: number;
  path: string;
}

/** Containers of builds, whose processes their clients talk to. `build`: its name. Throws EngineError. */
export interface BuildContainersPort {
  create(build: string, asked: NewBuildContainer, signal: AbortSignal): Promise<void>;
  /** The first process of a container is its init; further ones are started in it. */
  start(build: string, asked: NewBuildProcess, signal: AbortSignal): Promise<BuildProcess>;
  /** Resolves when nothing is left of it. */
  release(build: string, container: string, signal: AbortSignal): Promise<void>;
  readFile(
    build: string,
    at: ContainerPlace & { offset: number; length: number },
    signal: AbortSignal,
  ): Promise<Buffer>;
  stat(build: string, at: ContainerPlace, signal: AbortSignal): Promise<SentStat>;
  list(build: string, at: ContainerPlace & { pattern: string }, signal: AbortSignal): Promise<SentStat[]>;
}
