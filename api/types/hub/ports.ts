import type { HubAsidePort } from './aside.ts';
import type { HubAuditPort } from './audit.ts';
import type {
  FullOrganization,
  OrganizationConfigureRequest,
  OrganizationCreateRequest,
  OrganizationMembership,
  PrivateUser,
  PublicUser,
  SimpleOrganization,
  SimpleUser,
  UserCreateRequest,
} from './account.ts';
import type { HubCollaboratorsPort } from './collaborator.ts';
import type { HubApplicationsPort, HubAppsPort } from './applications.ts';
import type { HubDeliveriesPort, HubHooksPort } from './hooks.ts';
import type { HubCredentials } from './credentials.ts';
import type { HubNotesPort } from './notes.ts';
import type { HubOAuthPort } from './oauth.ts';
import type { HubRateStatus } from './rate.ts';
import type { HubRegistryPort, RegistryResource } from './registry.ts';
import type { HubRepository, RepositoryCreateRequest, RepositoryEditRequest } from './repository.ts';
import type { CreatedHubToken, HubToken, TokenCreateRequest } from './token.ts';

/** What the hub's HTTP needs of the hub. All methods throw `EngineError`. */
export interface HubPort {
  /** For a request with credentials, or for root. Throws unauthorized, forbidden. */
  session(credentials: HubCredentials | 'root'): HubSession;
  /** As `session`, and for apps that show JSON web tokens: to verify these takes a moment. */
  open(credentials: HubCredentials): Promise<HubSession>;
  /** As `open`, and for an access token of the registry that was given for searching. */
  openForSearch(credentials: HubCredentials): Promise<HubSession>;
  readonly registry: HubRegistryPort;
}

/**
 * What one caller may do. What it may not see is not_found. What it may see and not do is forbidden, or unauthorized
 * where nobody is signed in.
 */
export interface HubSession {
  /** Of a classic token, for the header; undefined = it is none. */
  readonly scopes: readonly string[] | undefined;
  /** Ids of organizations whose part of what was listed is left out: the token is to be authorized for them. */
  readonly organizationsLeftOut: readonly number[];
  readonly accounts: HubAccountsPort;
  readonly repositories: HubRepositoriesPort;
  readonly collaborators: HubCollaboratorsPort;
  readonly hooks: HubHooksPort;
  readonly deliveries: HubDeliveriesPort;
  readonly notes: HubNotesPort;
  readonly tokens: HubTokensPort;
  readonly applications: HubApplicationsPort;
  readonly apps: HubAppsPort;
  readonly oauth: HubOAuthPort;
  readonly aside: HubAsidePort;
  readonly audit: HubAuditPort;
  /**
   * Counts a request that is about to be served. Throws forbidden with `details.rate` (`HubRateStatus`) when those of
   * the hour are used up, with `details.retryAfterS` when it is too much for the moment.
   */
  admit(request: LimitedHubRequest): HubAdmission;
  /** Undefined = this caller has no limit. */
  rate(): HubRateStatus | undefined;
  /** Of the registry, by the minute; empty = this caller has no limit. */
  registryRates(): Partial<Record<RegistryResource, HubRateStatus>>;
}

export interface LimitedHubRequest {
  /** `repository.get`. */
  operation: string;
  method: string;
  /** Makes something. */
  isContent: boolean;
  /** Costs nothing of the hour. */
  isFree: boolean;
}

/** A request that may be served. */
export interface HubAdmission {
  /** For the headers; undefined = this caller has no limit. */
  status: HubRateStatus | undefined;
  /**
   * The request is answered. `isUnchanged`: with 304, which costs nothing of the hour. `processorMs`: for how long this
   * process worked for it, where that was measured.
   */
  done(isUnchanged: boolean, processorMs?: number): void;
}

export interface HubAccountsPort {
  me(): PrivateUser;
  user(name: string): PublicUser;
  users(): SimpleUser[];
  organization(name: string): FullOrganization;
  organizations(): SimpleOrganization[];
  members(organization: string): SimpleUser[];
  membership(organization: string, user: string): OrganizationMembership;
  setMembership(
    organization: string,
    user: string,
    role: 'admin' | 'member',
  ): Promise<OrganizationMembership>;
  removeMembership(organization: string, user: string): Promise<void>;
  createUser(request: UserCreateRequest): Promise<SimpleUser>;
  setPassword(user: string, password: string | null): Promise<void>;
  removeUser(name: string): Promise<void>;
  createOrganization(request: OrganizationCreateRequest): Promise<SimpleOrganization>;
  removeOrganization(name: string): Promise<void>;
  configureOrganization(name: string, request: OrganizationConfigureRequest): Promise<void>;
}

export interface HubRepositoriesPort {
  get(owner: string, name: string): HubRepository;
  /** All that the caller may see. */
  all(): HubRepository[];
  /** Of the caller, and of the organizations that it is a member of. */
  mine(): HubRepository[];
  ofUser(name: string): HubRepository[];
  ofOrganization(name: string): HubRepository[];
  createMine(request: RepositoryCreateRequest): Promise<HubRepository>;
  createIn(organization: string, request: RepositoryCreateRequest): Promise<HubRepository>;
  /** For root: in any account. */
  createFor(owner: string, request: RepositoryCreateRequest): Promise<HubRepository>;
  edit(owner: string, name: string, request: RepositoryEditRequest): Promise<HubRepository>;
  remove(owner: string, name: string): Promise<void>;
}

/** Root may, and users for themselves at the pages: a token must not make another one. */
export interface HubTokensPort {
  create(user: string, request: TokenCreateRequest): Promise<CreatedHubToken>;
  list(user: string): HubToken[];
  revoke(user: string, id: number): Promise<void>;
  /** What a link for single sign-on is for, to the user whose token it is. Throws not_found for any other link. */
  signOn(request: string): { organization: string; token: HubToken };
  /** Lets a classic token be used with an organization that asks for single sign-on. */
  authorize(user: string, id: number, organization: string): Promise<void>;
}
