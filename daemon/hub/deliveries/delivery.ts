/** A delivery that was made: what was sent and what came back. */
export interface Delivery extends DeliverySummary {
  url: string;
  request: {
    headers: Readonly<Record<string, string>>;
    /** JSON; empty = there was none. */ payload: string;
  };
  response: { headers: Readonly<Record<string, string>>; payload: string };
}

/** Without what was sent and answered. */
export interface DeliverySummary {
  /** Counts up. */
  id: number;
  guid: string;
  hook: number;
  repository: number;
  event: string;
  action: string | null;
  isRedelivery: boolean;
  deliveredMs: number;
  durationMs: number;
  outcome: Outcome;
}

/** How a delivery ended. */
export interface Outcome {
  /** For people: `OK`, `timed out`. */
  status: string;
  /** Of the answer; 502 where no receiver was reached, 504 where it did not answer in time. */
  code: number;
  /** Of the hook since (GitHub: `last_response.status`). */
  hookStatus: 'active' | 'missing' | 'invalid' | 'misconfigured' | 'timeout';
}

/** As GitHub's filter `status=success`: answers that are no errors. */
export function isSuccess({ code }: Pick<Outcome, 'code'>): boolean {
  return code >= 200 && code < 400;
}

/** Before it is written down (seal.ts). `attempt`: of `SealedDelivery`. */
export type NewDelivery = Omit<Delivery, 'id'> & { attempt: string };

/** What came of an errand, as the log keeps it: made by whoever made the delivery, so that nobody else reads it. */
export interface SealedDelivery {
  /** Told apart from all others: an intent and how often it was tried before. */
  attempt: string;
  hook: number;
  deliveredMs: number;
  outcome: Outcome;
  /** JSON of a `DeliverySummary` without its id. */
  summary: string;
  /** Packed: what was sent and answered. */
  body: Buffer;
  /** For the log of the daemon: why it was not made. */
  problem?: string;
}

export interface DeliveryQuery {
  hook: number;
  /** Those with this id and before; absent = from the newest on. */
  from?: number;
  status?: 'success' | 'failure';
  limit: number;
}

export type NewerQuery = Omit<DeliveryQuery, 'from'> & { than: number };

/** What was delivered in the last weeks: too large for records. */
export interface DeliveryHistory {
  /** Newest first. */
  list(query: DeliveryQuery): DeliverySummary[];
  get(hook: number, id: number): Delivery | undefined;
  /** Ids of those that came behind one, the nearest first. */
  newer(query: NewerQuery): number[];
}

/** The same for whoever makes the deliveries. */
export interface DeliveryLog extends DeliveryHistory {
  /** All or none, or some where it throws. What is there already is not written again. */
  add(deliveries: readonly SealedDelivery[]): void | Promise<void>;
  has(attempt: string): boolean;
  /** Removes what is older, what is too much of one hook, and the oldest past a size of all. */
  prune(bounds: { beforeMs: number; ofHook: number; bytes: number }): void;
}
