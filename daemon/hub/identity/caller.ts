import type { User } from './account.ts';
import type { Token } from './tokens/token.ts';

/** Who makes a request of the hub. */
export type Caller =
  /** Whoever can open the engine's socket, which is root in effect. */
  | { kind: 'root' }
  /** Showed nothing. */
  | { kind: 'anonymous'; address: string }
  | { kind: 'user'; user: User; token: Token };
