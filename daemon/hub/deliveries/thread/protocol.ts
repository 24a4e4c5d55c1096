import type { Errand } from '../courier.ts';
import type { SealedDelivery } from '../delivery.ts';
import type { RequestFacts } from '../request.ts';

/** What a thread of deliveries is started with. */
export interface ThreadFacts extends RequestFacts {
  /** As in the settings. */
  allowedHosts: readonly string[];
  /** Where clients find the hub. */
  baseUrl: string;
}

/** Errands of one hook with the number by which their answer names them. */
export interface NumberedErrands {
  number: number;
  errands: readonly KnownErrand[];
}

export interface KnownErrand {
  errand: Errand;
  /** The same for all errands of one occurrence: copies of it are one again in the thread. Absent = there is none. */
  occurrence?: number;
}

/** To the thread. */
export type ErrandBatch = readonly NumberedErrands[];

/** From the thread. Bytes arrive as a plain array of them. */
export type MadeBatch = readonly {
  number: number;
  made: readonly (Omit<SealedDelivery, 'body'> & { body: Uint8Array })[];
}[];
