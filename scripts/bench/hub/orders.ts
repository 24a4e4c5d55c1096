/** What bed.ts tells traffic.ts, and what it hears. */
export const RECEIVER_PORT = 5040;

export type Order =
  /** Answered with a report. */
  | { kind: 'count' }
  /** Puts a manifest under so many new tags, one after the other, one each so many milliseconds where it can. */
  | { kind: 'put'; tags: number; everyMs: number; url: string; authorization: string; manifest: string }
  /** Answered with a report when no tag is being put any more. */
  | { kind: 'stop' };

/** Deliveries since the start, and tags that were put. */
export interface Report {
  received: number;
  put: number;
}
