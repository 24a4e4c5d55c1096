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
  /** Never rejects: what went wrong is the outcome. */
  deliver(errand: Errand): Promise<SealedDelivery>;
}
