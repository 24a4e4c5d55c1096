import type { PlacedSpool } from '../../storage/spool/placed-spool.ts';

/** Where the files of a client lie. Satisfied by `storage/spool`. */
export type ContextSpool = Pick<
  PlacedSpool,
  'fd' | 'size' | 'reserve' | 'put' | 'isFull' | 'flush' | 'read'
> &
  AsyncDisposable;

/** Files without names for what clients send. Satisfied by `storage/files`. */
export interface ContextSpools {
  placed(what: string): Promise<ContextSpool>;
}
