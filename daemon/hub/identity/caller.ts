import type { OAuthApplication } from '../oauth/applications/application.ts';
import type { Organization, User } from './account.ts';
import type { App, Application, Installation } from './apps/app.ts';
import type {
  FineGrainedToken,
  GrantToken,
  InstallationToken,
  OAuthToken,
  AppUserToken,
  ClassicToken,
  ServiceToken,
  WorkflowToken,
} from './tokens/token.ts';
import type { Scope } from './tokens/scopes.ts';
import { unreachable } from '../../base/errors.ts';

/** Who makes a request of the hub. */
export type Caller =
  /** Whoever can open the engine's socket, which is root in effect. */
  | { kind: 'root' }
  /** Showed nothing. */
  | { kind: 'anonymous'; address: string }
  | UserCaller
  /** Signed in at the hub's pages: may do all that the user may. */
  | { kind: 'page'; user: User }
  | InstallationCaller
  /** An app by a JSON web token that it signed: for what concerns the app itself. */
  | { kind: 'app'; app: App }
  /** An application by its client id and secret: for what concerns its users' tokens, and what all may see. */
  | { kind: 'client'; application: Application }
  | { kind: 'workflow'; token: WorkflowToken }
  | DelegateCaller
  /** An organization's own program, with accesses to that organization. */
  | ServiceCaller;

/** An organization's OAuth application, with what a user has granted it. */
export interface DelegateCaller {
  kind: 'delegate';
  user: User;
  token: GrantToken;
  application: OAuthApplication;
}

export interface ServiceCaller {
  kind: 'service';
  organization: Organization;
  token: ServiceToken;
}

/** A token that acts for a user. */
export type UserCaller =
  | { kind: 'user'; user: User; token: ClassicToken | FineGrainedToken }
  | { kind: 'user'; user: User; token: OAuthToken | AppUserToken; application: Application };

/** An app by a token for one of the places where it is installed. */
export interface InstallationCaller {
  kind: 'installation';
  app: App;
  installation: Installation;
  token: InstallationToken;
}

/** The user that a caller is or acts for; undefined = none. */
export function userOf(caller: Caller): User | undefined {
  return 'user' in caller ? caller.user : undefined;
}

/** What its token may by scopes; undefined = it has no scopes. */
export function scopesOf(caller: Caller): readonly Scope[] | undefined {
  return caller.kind === 'user' && (caller.token.kind === 'classic' || caller.token.kind === 'oauth')
    ? caller.token.scopes
    : undefined;
}

/** What errors call a caller. */
export function nameOf(caller: Caller): string {
  switch (caller.kind) {
    case 'user':
    case 'page':
    case 'delegate':
      return caller.user.name;
    case 'installation':
    case 'app':
      return caller.app.name;
    case 'client':
      return caller.application.name;
    case 'root':
    case 'anonymous':
      return caller.kind;
    case 'workflow':
      return `task ${caller.token.task}`;
    case 'service':
      return `service token ${caller.token.publicId}`;
    default:
      return unreachable(caller);
  }
}
