/** What bed.ts tells traffic.ts, and what it hears. */
export const RECEIVER_PORT = 5040;

export type Order =
  | { kind: 'count' }
  /** Puts a manifest under so many new tags, one after the other, and begins the next one after a while at least. */
  | { kind: 'put'; tags: number; everyMs: number; url: string; authorization: string; manifest: string }
  | { kind: 'stop' };

/** Deliveries since the start, and tags that were put. */
export interface Report {
  received: number;
  put: number;
}
