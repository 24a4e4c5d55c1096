import type { Permissions } from './permissions.ts';
import type { Scope } from './scopes.ts';

/** What somebody has instead of a password. Records `token/<hash>`: a request finds it by one look. */
export type Token = ClassicToken | FineGrainedToken;

interface Common {
  id: number;
  /** SHA-256 of the secret, in hexadecimal. */
  hash: string;
  lastEight: string;
  note: string;
  /** Whose it is. */
  user: Owner;
  createdMs: number;
  /** Null = never. */
  expiresMs: number | null;
  /** To about `limits.hubLastUseMs`; null = not used yet. */
  lastUsedMs: number | null;
}

/** By name and id: another account with the name has another id. */
export interface Owner {
  name: string;
  id: number;
}

/** A personal token with scopes, for all that its user may do. */
export interface ClassicToken extends Common {
  kind: 'classic';
  scopes: readonly Scope[];
}

/** A personal token with permissions, for repositories of one owner. */
export interface FineGrainedToken extends Common {
  kind: 'fine-grained';
  resourceOwner: Owner;
  /** All of the owner, also those to come, or some by id. */
  repositories: 'all' | readonly number[];
  permissions: Permissions;
}
