import type { RegistryAuth } from '../image.ts';
import type { PolicyAnswer, PolicyQuestion } from './sources.ts';

/** What the engine needs of a client's session during a build: its files and what it knows. Independent of the wire. */
export interface BuildSession {
  readonly id: string;
  /** The same for the same directory of the same client: what it sent before may be used again. */
  readonly sharedKey: string;
  readonly isOpen: boolean;
  /** Resolves when it is over. */
  readonly closed: Promise<void>;
  /** The client sends a directory's list, then the files that are asked for. Throws not_implemented without it. */
  files(request: FilesRequest, signal: AbortSignal): FileTransfer;
  /** Of a registry, by the name under which clients keep them; empty = none. */
  credentials(host: string, signal: AbortSignal): Promise<RegistryAuth>;
  /** Throws not_found. */
  secret(id: string, signal: AbortSignal): Promise<Buffer>;
  /** Whether the client has a key agent by that id. */
  hasAgent(id: string, signal: AbortSignal): Promise<boolean>;
  /** A connection to it. Throws not_implemented without it. */
  agent(id: string, signal: AbortSignal): AgentConnection;
  /** A context that the client has as a stream, by the path of its URL. */
  upload(path: string, signal: AbortSignal): AsyncIterable<Buffer>;
  /** A store of content that the client offers by this name. Throws not_implemented without any. */
  content(store: string): ClientContent;
  /** The client writes a stream where its user wants it. Rejects with what it says went wrong. */
  sendBytes(target: SendTarget, bytes: AsyncIterable<Buffer>, signal: AbortSignal): Promise<void>;
  /** What the client's policy says of a source. Throws not_implemented where it has none. */
  checkSource(question: PolicyQuestion, signal: AbortSignal): Promise<PolicyAnswer>;
  /** Outputs that the client wants besides, now that it may see what was made; none where it does not say. */
  outputs(made: MadeResult, signal: AbortSignal): Promise<readonly AskedOutput[]>;
  /** All outputs are done: the same as the answer of the build. */
  exported(told: ReadonlyMap<string, string>, signal: AbortSignal): Promise<void>;
  /** The client makes files where its user wants them. Throws not_implemented without that. */
  sendFiles(target: SendTarget, signal: AbortSignal): FileSending;
  /** Throws when the client does not answer in time, or is not well. */
  check(signal: AbortSignal): Promise<void>;
}

/** Blobs that a client has in a directory, by their digests. What it sends is to be checked. */
export interface ClientContent {
  /** In bytes; undefined = it is not there. */
  size(digest: string, signal: AbortSignal): Promise<number | undefined>;
  /** The bytes from one on. */
  read(digest: string, offset: number, signal: AbortSignal): AsyncIterable<Buffer>;
  /** Pieces of less than 4 MB. It is there, all of it, when this resolves. */
  write(
    blob: { digest: string; size: number },
    content: AsyncIterable<Buffer>,
    signal: AbortSignal,
  ): Promise<void>;
}

/** What a program says to a client's key agent, and what it answers; disposing gives it up. */
export interface AgentConnection extends AsyncDisposable {
  /** Ends with the agent's side. Throws what the client says. */
  received: AsyncIterable<Buffer>;
  /** Resolves when there is room for more. */
  send(bytes: Uint8Array): Promise<void>;
  /** Nothing more is sent. */
  end(): void;
}

export interface FilesRequest {
  /** Name of the directory: `context`, `dockerfile`. */
  directory: string;
  /** Only these paths, and what their links lead to; empty = all. */
  followPaths: readonly string[];
  includePatterns: readonly string[];
  excludePatterns: readonly string[];
}

/** Something in a directory that a client sends. `path` and `linkName` are byte strings, one character per byte. */
export interface SentStat {
  path: string;
  type: 'file' | 'directory' | 'symlink' | 'device' | 'fifo';
  /** Permission bits with set-user-id, set-group-id and sticky. */
  mode: number;
  uid: number;
  gid: number;
  size: number;
  /** Nanoseconds since 1970. */
  mtime: bigint;
  /** Target of a symbolic link; of a file the earlier path that it is another name of; `''` = none. */
  linkName: string;
  attributes: ReadonlyMap<string, Buffer>;
  /** Of a device. */
  device?: { kind: 'character' | 'block'; major: number; minor: number };
}

export type FilePacket =
  | { kind: 'stat'; stat: SentStat }
  /** No more of the list comes. */
  | { kind: 'listed' }
  /** Of the file that was the `id`-th of the list, from 0; none = that was all of it. */
  | { kind: 'data'; id: number; bytes: Buffer }
  | { kind: 'finished' };

export interface FileTransfer extends AsyncDisposable {
  /** Throws what the client says went wrong, and `canceled` or `unavailable` when it is gone. */
  packets: AsyncIterable<readonly FilePacket[]>;
  request(ids: readonly number[]): Promise<void>;
  /** Everything that was asked for has come; the client answers with `finished`. */
  finish(): Promise<void>;
}

/** An output as a client names it. */
export interface AskedOutput {
  type: string;
  attributes: ReadonlyMap<string, string>;
}

/** What a build has made, for its client: configurations in BuildKit's words, and names of its images. */
export interface MadeResult {
  metadata: ReadonlyMap<string, Buffer>;
  refs: readonly string[];
}

/** Which output of a build is sent. */
export interface SendTarget {
  /** From 0, in the order in which the client asked for them. */
  output: number;
  /** What is told of it: `containerimage.digest`. */
  facts: ReadonlyMap<string, string>;
}

export type GivenPacket = Exclude<FilePacket, { kind: 'stat' }> | { kind: 'stat'; stat: SentStat };

/** What a client that is sent files says: number `id` of the list is wanted; or it has all that it wants. */
export type FileQuestion = { kind: 'wanted'; id: number } | { kind: 'finished' };

export interface FileSending extends AsyncDisposable {
  /** Throws what the client says went wrong, and `canceled` or `unavailable` when it is gone. */
  questions: AsyncIterable<readonly FileQuestion[]>;
  /** Resolves when there is room for more. */
  send(packets: readonly GivenPacket[]): Promise<void>;
  /** Nothing more is sent. */
  end(): void;
}
