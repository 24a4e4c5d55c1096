import type { Owner } from '../../identity/tokens/token.ts';
import type { ScopesByGroup } from '../scopes/names.ts';

/**
 * A program that an organization lets users authorize (seed 002 A). Records `oauth-application/<id>`. The OAuth apps of
 * `identity/apps` are of GitHub's kind: of any owner, with scopes for all that their user may.
 */
export interface OAuthApplication {
  /** Twelve characters. */
  id: string;
  /** Holds the id, so that a request finds the application by one look. */
  clientId: string;
  name: string;
  /** Full address of the application. */
  domain: string;
  /** Where users go back to: exactly there. */
  redirectUri: string;
  /** Type of the image in `oauth-avatar/<id>`; null = there is none. */
  avatar: string | null;
  /** Shown where users are asked. */
  privacyUrl: string | null;
  termsUrl: string | null;
  /** What it asks for, by what that is granted for. */
  scopes: ScopesByGroup;
  organization: Owner;
  /** SHA-256 of the client secret, which is shown once. */
  secretHash: string;
  createdMs: number;
  updatedMs: number;
}

const CLIENT_ID = /^Oc([a-z0-9]{12})\.[0-9a-f]{16}$/;

/** The application's id in a client id; undefined = it is none. */
export function readApplicationClientId(text: string): string | undefined {
  return CLIENT_ID.exec(text)?.[1];
}
