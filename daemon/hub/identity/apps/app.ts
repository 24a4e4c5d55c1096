import type { Permissions } from '../tokens/permissions.ts';
import type { Selection } from '../tokens/token.ts';

/** A program that has an identity of its own: an id and a secret to show. */
export type Application = App | OAuthApp;

interface Client {
  id: number;
  /** What it is known by to others: `Iv7.0123456789abcdef`, or `Ov7...` of an OAuth application. */
  clientId: string;
  name: string;
  description: string | null;
  /** Its home page. */
  url: string;
  owner: AccountRef;
  secrets: readonly ClientSecret[];
  createdMs: number;
  updatedMs: number;
}

/** An account by name and id: the next of that name is another. */
export interface AccountRef {
  kind: 'user' | 'organization';
  name: string;
  id: number;
}

/** As tokens are stored: the secret itself is shown once. */
export interface ClientSecret {
  hash: string;
  lastEight: string;
  createdMs: number;
}

/** An app acts as itself where it is installed. Records `app/<id>`. */
export interface App extends Client {
  kind: 'app';
  /** Its name in addresses, one of a kind. */
  slug: string;
  permissions: Permissions;
  /** Names of events that it wants of the repositories where it is installed. */
  events: readonly string[];
  keys: readonly AppKey[];
}

/** The half of a key pair that verifies what the app signs; the other one is the app's. */
export interface AppKey {
  id: number;
  /** PEM, SubjectPublicKeyInfo. */
  publicKey: string;
  createdMs: number;
}

/** An OAuth application acts for users, with scopes. Records `oauth-app/<id>`. */
export interface OAuthApp extends Client {
  kind: 'oauth-app';
  /** Where users go back to when they have let it act for them; null = there is nowhere. */
  callbackUrl: string | null;
}

/** An app at an account, for all of its repositories or some. Records `installation/<id>`. */
export interface Installation {
  id: number;
  app: number;
  account: AccountRef;
  repositories: Selection;
  /** It is worth nothing as long as it is suspended; null = it is not. */
  suspendedMs: number | null;
  createdMs: number;
  updatedMs: number;
}
