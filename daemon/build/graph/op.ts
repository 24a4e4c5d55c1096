import type { FileTime } from '../../base/kernel/files/file-status.ts';
import type { StepContainer } from './step-container.ts';

/**
 * What a build does, step by step, before anything of it is done: a graph without circles. The frontend makes it of a
 * Dockerfile, the solver runs it. A vertex has inputs, an operation, and one result: a tree of files.
 */

/** `linux/amd64` or `linux/arm64/v8`, normalized. */
export type Platform = string;

/** A vertex is the same as another where operation and inputs are; names and places do not count. */
export interface Vertex {
  op: Op;
  /** What the operation reads; `files` and `exec` begin with the tree at position 0, `undefined` = an empty one. */
  inputs: readonly (Vertex | undefined)[];
  /** As progress shows it: `[build 2/5] RUN make`. */
  name: string;
  /** Lines of the Dockerfile, from 1, for errors. */
  lines?: { from: number; to: number };
  /** `--no-cache` for this stage: the result of an earlier build is not taken. */
  isFresh?: boolean;
  /**
   * `ofImage`: an image of its own keeps its result, and its record goes with that; `none`: nobody else may take it.
   * Undefined: its record keeps it.
   */
  record?: 'ofImage' | 'none';
  /** Where a command runs in a container that its client knows. */
  container?: StepContainer;
}

export type Op =
  | ImageSource
  | LayoutSource
  | LocalSource
  | SentSource
  | HttpSource
  | GitSource
  | HeldSource
  | FilesOp
  | ExecOp
  | MergeOp
  | DiffOp
  | MountResult;

/** The files of an image. Inputs: none. */
export interface ImageSource {
  kind: 'image';
  /** Normalized, with tag or digest: `docker.io/library/debian:12`. */
  reference: string;
  platform: Platform;
  /** `local`: pull only what is not here. */
  mode: 'local' | 'pull';
  /** Only so many of its layers, from the lowest on; undefined = all. */
  layerLimit?: number;
}

/** The files of an image in an OCI layout of the client. Inputs: none. */
export interface LayoutSource {
  kind: 'layout';
  /** Name of the store in the session. */
  store: string;
  /** Of a manifest or an index. */
  digest: string;
  session: string;
  platform: Platform;
  layerLimit?: number;
}

/** Files of the client, by its session. Inputs: none. Every build has its own; what is read of it counts. */
export interface LocalSource {
  kind: 'local';
  /** `context`, `dockerfile`, or the name of a further context. */
  name: string;
  session: string;
  sharedKey: string;
  includePatterns: readonly string[];
  excludePatterns: readonly string[];
  followPaths: readonly string[];
  /** All of it comes: a file that came before is not known by its size and time. */
  isSentAnew?: true;
}

/** Files of the client that are here already, held by the build that reads them. Inputs: none. */
export interface SentSource {
  kind: 'sent';
  /** A tree of the solver that does it. */
  files: Disposable;
}

/** One file by HTTP, at the root of the tree. Inputs: none. */
export interface HttpSource {
  kind: 'http';
  url: string;
  /** `sha256:...` that the content must have; `''` = any. */
  checksum: string;
  fileName: string;
  /** Bits of chmod; undefined = 0600. */
  mode?: number;
  owner: { uid: number; gid: number };
}

/** A checkout. Inputs: none. */
export interface GitSource {
  kind: 'git';
  remote: string;
  /** Branch, tag or commit; `''` = what the remote's HEAD is. */
  ref: string;
  subdirectory: string;
  keepsGitDirectory: boolean;
  /** What is another repository is an empty directory. */
  skipsSubmodules?: true;
  /** Commit that it must be; `''` = any. */
  checksum: string;
  /** Names of secrets for repositories by HTTP, where they are not the usual ones; and of the key agent by ssh. */
  secrets?: { token: string; header: string };
  agent?: string;
  /** Lines of a known_hosts file: by ssh only these are taken for what they say they are. */
  knownHosts?: string;
}

/** A tree that a build under way has made: `HeldTrees` knows it. Inputs: none. */
export interface HeldSource {
  kind: 'held';
  id: string;
}

/** Changes to a tree without a process. Inputs: the tree, then what actions copy from. */
export interface FilesOp {
  kind: 'files';
  actions: readonly FileAction[];
}

export type FileAction = MakeDirectory | MakeFile | MakeLink | RemoveFiles | CopyFiles;

/** As the account files of the tree that is changed have it; `''` = root, of copies as the source has it. */
export type Owner = string;

/** What is said of things that are made. */
export interface Made {
  owner: Owner;
  /** Position in `inputs` of the tree whose account files have the owner, where it is not the one that is changed. */
  accounts?: number;
  /** When it was made; undefined = now, of copies as the source has it. */
  mtime?: FileTime;
}

export interface MakeDirectory extends Made {
  action: 'mkdir';
  path: string;
  /** Bits of chmod. */
  mode: number;
  /** Of directories above it that are not there: `same` = made with the same mode; `none` = an error. */
  parents?: 'same' | 'none';
}

/** The content of a here-document. */
export interface MakeFile extends Made {
  action: 'mkfile';
  path: string;
  /** In base64 where `isBase64`, else UTF-8. */
  content: string;
  isBase64?: true;
  mode: number;
  /** Its directory must be there. */
  needsParent?: true;
}

/** A symbolic link in a directory that is there. */
export interface MakeLink extends Made {
  action: 'symlink';
  path: string;
  target: string;
}

export interface RemoveFiles {
  action: 'rm';
  /** A pattern where `isPattern`. */
  path: string;
  isPattern: boolean;
  mayMiss: boolean;
}

export interface CopyFiles extends Made {
  action: 'copy';
  /** Position in `inputs`. */
  from: number;
  /** Patterns below the root of that tree. */
  sources: readonly string[];
  /** Absolute; a slash at its end means a directory. */
  destination: string;
  /** Octal or symbolic, as chmod(1) takes it; `''` = as it is. */
  chmod: string;
  /** Archives are unpacked (ADD of a local file). */
  unpacks: boolean;
  /** `--parents`: the path of each source from its `/./` on is made below the destination. */
  keepsParents: boolean;
  exclude: readonly string[];
  /**
   * As dockerd's classic builder has it: a directory takes the place of something else, and the reverse; an owner
   * without an account is refused; what is unpacked stays with the owners of the archive. BuildKit refuses the first,
   * takes the second for root and gives the last to `owner`.
   */
  isClassic?: true;
  /** As a client's graph says it, in place of what COPY does. */
  exact?: ExactCopy;
}

/** What COPY leaves no choice of (`FileActionCopy` of ops.proto). */
export interface ExactCopy {
  followsLinks: boolean;
  /** Of a directory only what lies in it. */
  copiesContents: boolean;
  /** Directories above the destination are made. */
  makesParents: boolean;
  /** A pattern that means nothing is an error. */
  mustMatch: boolean;
  include: readonly string[];
  /** What is there and of another kind goes. */
  replaces: boolean;
}

/** Of commands, where a client asks for no other; a command may see another one that its door gives it. */
export const SANDBOX_HOSTNAME = 'buildkitsandbox';

/** A command in a tree. Inputs: its root, then what is mounted. */
export interface ExecOp {
  kind: 'exec';
  argv: readonly string[];
  /** `NAME=value`, in order. */
  env: readonly string[];
  /** Proxies and the like: the process has them, they change no key. */
  quietEnv: readonly string[];
  directory: string;
  user: string;
  network: 'default' | 'none' | 'host';
  isPrivileged: boolean;
  hostname: string;
  extraHosts: readonly { name: string; address: string }[];
  shmBytes?: number;
  ulimits: readonly { name: string; soft: number; hard: number }[];
  cgroupParent: string;
  mounts: readonly ExecMount[];
  devices?: readonly AskedDevice[];
  /** Nothing of its root is changed. */
  isRootReadonly?: true;
  /** Exit codes that mean that all is well; undefined = 0. */
  validExitCodes?: readonly number[];
  /** Of places made to mount something there only the last directory goes; those above it stay. */
  keepsStubParents?: boolean;
}

/** Described devices of the host (CDI); one that is not there is left out unless it is required. */
export interface AskedDevice {
  /** `vendor.com/class=name`, with `*` as the name, or without one; or a class of a device's description. */
  name: string;
  isRequired: boolean;
  /** By the client; else only a device that is free for all is given. */
  isAllowed: boolean;
}

export type ExecMount =
  | {
      type: 'bind';
      from: number;
      source: string;
      target: string;
      isWritable: boolean;
      /** What it has become is a tree that other operations use: a `MountResult` of this number. */
      result?: number;
      /** It counts as a whole, not by what is read of it. */
      isWhole?: true;
    }
  | {
      type: 'cache';
      /** Namespace and id: what caches of other builds have the same contents. */
      id: string;
      sharing: 'shared' | 'private' | 'locked';
      /** Position in `inputs` of what it begins with; undefined = empty. */
      from?: number;
      source: string;
      target: string;
      isWritable: boolean;
      owner: { uid: number; gid: number };
      mode: number;
    }
  | { type: 'tmpfs'; target: string; sizeBytes?: number }
  | {
      type: 'secret';
      id: string;
      /** Undefined: no file. */
      target?: string;
      /** Variable that holds it. */
      env?: string;
      isRequired: boolean;
      owner: { uid: number; gid: number };
      mode: number;
    }
  | {
      type: 'ssh';
      id: string;
      target: string;
      isRequired: boolean;
      owner: { uid: number; gid: number };
      mode: number;
    };

/** What the second tree has changed of the first: its layers above it, or what is different. Inputs: the two. */
export interface DiffOp {
  kind: 'diff';
  /** What was deleted counts: the result is to stand on others. */
  hasDeletions: boolean;
}

/** What a command has made of a tree that was mounted. Input: the command. */
export interface MountResult {
  kind: 'result';
  /** As `result` of the mount says. */
  number: number;
}

/** `COPY --link`: the second tree's layers above the first's. Nothing is read, nothing is copied. */
export interface MergeOp {
  kind: 'merge';
}
