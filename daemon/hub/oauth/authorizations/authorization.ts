import type { Owner } from '../../identity/tokens/token.ts';
import type { Access } from '../scopes/access.ts';

/** That a user has let an application act, and what came of it. Records `authorization/<id>`. */
export interface Authorization {
  /** Twelve characters; its code and its refresh tokens hold it, so that they lead here without an index. */
  id: string;
  application: string;
  user: Owner;
  accesses: readonly Access[];
  code: AuthorizationCode;
  /** Hash of the token that is good now; null = there is none. */
  token: string | null;
  /** Null = the code was not exchanged yet. */
  refresh: { hash: string; expiresMs: number } | null;
  /** Hashes of refresh tokens that were used, the newest last. Who shows one of them has stolen it, or was robbed. */
  used: readonly string[];
  /** The one of them that was used last may come once more until then: its answer may have been lost. */
  again?: { hash: string; untilMs: number } | null;
  createdMs: number;
}

export interface AuthorizationCode {
  hash: string;
  redirectUri: string;
  /** The request named it: the exchange has to as well (RFC 6749, 4.1.3). */
  isRedirectNamed: boolean;
  /** SHA-256 of the verifier, in base64url (RFC 7636, S256); null = none was sent. */
  challenge: string | null;
  expiresMs: number;
  isUsed: boolean;
}
