import type { ToldEvent } from '../protocol/told-events.ts';

/** Takes what happened on other nodes. Resolves once it is durable. Throws unavailable where it cannot now. */
export type NodeEventsListener = (
  node: { id: string; name: string },
  events: readonly ToldEvent[],
) => Promise<void>;

/** The managers, for a node that tells them what happened on it. */
export interface ManagerEvents {
  /** At most `limits.swarmToldEventsMax`. Resolves when a manager has taken all. Throws unavailable with why not. */
  tell(events: readonly ToldEvent[], signal: AbortSignal): Promise<void>;
}
