/** What a build reports to BuildKit's clients. Times are nanoseconds since 1970. */
export interface BuildVertex {
  digest: string;
  name: string;
  inputs: readonly string[];
  cached: boolean;
  started?: bigint;
  completed?: bigint;
  /** `''` = none. */
  error: string;
}

/** Something within a vertex that goes on: `transferring context:`. */
export interface BuildVertexStatus {
  id: string;
  vertex: string;
  current: number;
  total: number;
  at: bigint;
  started: bigint;
  completed?: bigint;
}

export interface BuildLog {
  vertex: string;
  at: bigint;
  /** 1 or 2. */
  stream: number;
  data: Buffer;
}

/** What is new since the last one. */
export interface BuildUpdate {
  vertexes: readonly BuildVertex[];
  statuses: readonly BuildVertexStatus[];
  logs: readonly BuildLog[];
}
