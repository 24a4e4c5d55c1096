import type { Hook } from '../hooks/hook.ts';
import type { SealedDelivery } from './delivery.ts';
import type { Intent } from './intent.ts';

/** One delivery to be made. */
export interface Errand {
  intent: Intent;
  /** As it is when the errand begins. */
  hook: Hook;
  /** Of what is sent again: the payload as it was sent before. */
  earlier: string | undefined;
}

/** Makes deliveries. */
export interface Courier {
  /**
   * Makes deliveries of one hook, as it is at the time, one after the other, and answers what came of the first ones:
   * of all where they are quick, of one at least. Never rejects: what went wrong is the outcome.
   */
  deliver(errands: readonly Errand[]): Promise<readonly SealedDelivery[]>;
}
