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

/** What a client is told of its Dockerfile, though the build goes on. */
export interface BuildWarning {
  vertex: string;
  /** Clients show those of level 1; undefined = that. */
  level?: number;
  /** In one line. */
  short: string;
  detail: string;
  /** Of a page that explains it; `''` = none. */
  url: string;
  /** `language` undefined: it is a Dockerfile. */
  source: { filename: string; data: string; language?: string };
  /** Lines of the source, from 1, both ends included. */
  lines: readonly { from: number; to: number }[];
}

/** What is new since the last one. */
export interface BuildUpdate {
  vertexes: readonly BuildVertex[];
  statuses: readonly BuildVertexStatus[];
  logs: readonly BuildLog[];
  warnings: readonly BuildWarning[];
}
