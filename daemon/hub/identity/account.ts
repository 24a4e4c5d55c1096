/** A person, or a group of them, that owns repositories. Records `account/<name in lower case>`. */
export type Account = User | Organization;

export interface User {
  kind: 'user';
  /** Given once: an account that takes the name of a removed one is another. */
  id: number;
  name: string;
  email: string | null;
  /** For the pages only (password.ts); null = cannot sign in there. */
  password: string | null;
  createdMs: number;
}

export interface Organization {
  kind: 'organization';
  id: number;
  name: string;
  createdMs: number;
  /** Classic tokens must be authorized for it, one by one. */
  hasSingleSignOn?: boolean;
  /** Has the higher limits of requests (seed 001, section 8: enterprise-cloud). */
  isEnterprise?: boolean;
}

/** Records `member/<organization's id>/<user's id>`. */
export interface Membership {
  organization: number;
  user: number;
  /** An admin may do everything with the organization and what it owns; members may read. */
  role: Role;
}

export type Role = 'admin' | 'member';
