import type { Records } from '../../records/port.ts';
import type { DeliveryLog } from '../delivery.ts';

/** One host's turn to make the deliveries of all: what it writes is refused once another has the next one. */
export interface Turn {
  records: Records;
  deliveries: DeliveryLog;
  /** Resolves when the turn is over, with the reason. */
  over: Promise<string>;
  end(): Promise<void>;
}

/** Where several hosts have the same records. */
export interface Turns {
  /** Resolves when it is this host's turn and it knows what was written before. Rejects when the signal comes first. */
  next(signal: AbortSignal): Promise<Turn>;
}
