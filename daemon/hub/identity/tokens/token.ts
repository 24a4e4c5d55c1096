import type { Access } from '../../oauth/scopes/access.ts';
import type { Permissions } from './permissions.ts';
import type { Scope } from './scopes.ts';

/** What somebody has instead of a password. Records `token/<hash>`: a request finds it by one look. */
export type Token = UserToken | InstallationToken | WorkflowToken | ServiceToken | GrantToken;

/** With it somebody acts as a user. */
export type UserToken = PersonalToken | DelegatedToken;

/** Made by its user. */
export type PersonalToken = ClassicToken | FineGrainedToken;

/** Made for an application that a user has let act in its place. */
export type DelegatedToken = OAuthToken | AppUserToken;

interface Common {
  id: number;
  /** SHA-256 of the secret, in hexadecimal. */
  hash: string;
  lastEight: string;
  createdMs: number;
  /** Null = never. */
  expiresMs: number | null;
  /** To about `limits.hubLastUseMs`; null = not used yet. */
  lastUsedMs: number | null;
}

interface OfUser extends Common {
  note: string;
  /** Whose it is. */
  user: Owner;
}

/** By name and id: another account with the name has another id. */
export interface Owner {
  name: string;
  id: number;
}

/** A personal token with scopes, for all that its user may do. */
export interface ClassicToken extends OfUser {
  kind: 'classic';
  scopes: readonly Scope[];
  /** Ids of organizations with single sign-on that it may be used with; absent = none. */
  authorized?: readonly number[];
}

/** A personal token with permissions, for repositories of one owner. */
export interface FineGrainedToken extends OfUser {
  kind: 'fine-grained';
  resourceOwner: Owner;
  /** All of the owner, also those to come, or some by id. */
  repositories: Selection;
  permissions: Permissions;
}

/** All, also those to come, or some by id. */
export type Selection = 'all' | readonly number[];

/** Of an OAuth application, with scopes. */
export interface OAuthToken extends OfUser {
  kind: 'oauth';
  /** Id of the application. */
  application: number;
  scopes: readonly Scope[];
}

/** Of an app, with its permissions, where it is installed. */
export interface AppUserToken extends OfUser {
  kind: 'app-user';
  /** Id of the app. */
  application: number;
}

/** With it an app acts as itself, where it is installed. Lives an hour. */
export interface InstallationToken extends Common {
  kind: 'installation';
  installation: number;
  repositories: Selection;
  permissions: Permissions;
}

/** Of an organization's own program, with accesses to the organization (seed 002 A). */
export interface ServiceToken extends Common {
  kind: 'service';
  /** What it is known by, and shown with: `ID:TOKEN`. */
  publicId: string;
  name: string;
  accesses: readonly string[];
  organization: Owner;
  /** Who made it; null = root. */
  maker: Owner | null;
}

/** Of an organization's OAuth application, for a user who has agreed (seed 002 A). */
export interface GrantToken extends Common {
  kind: 'grant';
  publicId: string;
  user: Owner;
  application: string;
  /** What it came of. */
  authorization: string;
  accesses: readonly Access[];
}

/** Of a task that runs, for one repository; gone with the task. */
export interface WorkflowToken extends Common {
  kind: 'workflow';
  repository: number;
  task: string;
  permissions: Permissions;
}
