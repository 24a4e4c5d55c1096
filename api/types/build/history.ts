/** Bytes that belong to a build that has ended: its log, its provenance. */
export interface HistoryBlob {
  mediaType: string;
  /** sha256:... */
  digest: string;
  bytes: number;
  annotations: Readonly<Record<string, string>>;
}

/** What is told of a result. */
export interface HistoryResult {
  attestations: readonly HistoryBlob[];
}

/** A build as clients find it again: while it goes on, and after its end. Times are nanoseconds since 1970. */
export interface HistoryRecord {
  /** Chosen by the client. */
  ref: string;
  /** `''`: the client was the frontend itself. */
  frontend: string;
  /** What the client asked of the frontend, without passwords and keys. */
  attributes: Readonly<Record<string, string>>;
  exporters: readonly { type: string; attributes: Readonly<Record<string, string>> }[];
  createdNano: bigint;
  /** Undefined: it goes on. */
  completedNano?: bigint;
  /** In terms of gRPC. */
  error?: { code: number; message: string };
  /** The same with what clients know of errors, `google.rpc.Status`. */
  errorDetails?: HistoryBlob;
  /** Of all that was reported. */
  log?: HistoryBlob;
  trace?: HistoryBlob;
  /** What exporters told the client. */
  response: Readonly<Record<string, string>>;
  /** Undefined: nothing came of it, or it was built for several platforms. */
  result?: HistoryResult;
  /** By platform, where it was built for several. */
  results: Readonly<Record<string, HistoryResult>>;
  /** Counts changes after its end. */
  generation: number;
  /** It stays whatever its age. */
  isPinned: boolean;
  steps: { total: number; completed: number; cached: number };
  warnings: number;
}

export type HistoryEvent =
  | { type: 'started' | 'complete'; record: HistoryRecord }
  | { type: 'deleted'; ref: string };

export interface HistoryQuestion {
  /** `''` = all. */
  ref: string;
  /** Of those that go on; what changes afterwards is told of all. */
  isActiveOnly: boolean;
  /** What is known now, without waiting for more. */
  endsEarly: boolean;
  /** Of builds that have ended, each a list of conditions by commas: one that is met is enough. */
  filters: readonly string[];
  /** The newest so many of these; 0 = all. */
  limit: number;
}

/** What became of builds. Throws EngineError. */
export interface HistoryPort {
  listen(question: HistoryQuestion, signal: AbortSignal): AsyncIterable<HistoryEvent>;
  /** Throws not_found, and resource_exhausted where too many are pinned. */
  pin(ref: string, isPinned: boolean): void;
  /** Throws not_found, and failed_precondition while the build goes on. */
  remove(ref: string): void;
  /** Bytes by their digest. Throws not_found. */
  blob(digest: string): Promise<Buffer>;
  blobBytes(digest: string): number;
}
