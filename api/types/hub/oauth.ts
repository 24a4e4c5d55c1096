import type { HubCredentials } from './credentials.ts';

/** An OAuth application of an organization (seed 002 A; upstream: `GET /oauth-applications/{id}`). */
export interface OAuthApplicationView {
  id: string;
  name: string;
  redirect_uri: string;
  domain: string;
  privacy_url: string | null;
  terms_url: string | null;
  /** All that it asks for, as OAuth 2 writes it. */
  scopes: string;
  scopes_by_resource: Readonly<Partial<Record<string, readonly string[]>>>;
  /** All that applications can ask for. */
  all_scopes_by_resource: Readonly<Record<string, readonly string[]>>;
  /** Address of the image; empty = there is none. */
  avatar: string;
  client_id: string;
  /** How many of its tokens are good. */
  tokens: number;
  dcr: false;
  single_org_authorization: false;
  requires_org_scope: false;
  created_at: string;
  updated_at: string;
}

/** The only answers with the secret are those to making an application and to renewing its secret. */
export interface CreatedOAuthApplication extends OAuthApplicationView {
  client_secret: string;
}

/** Body of `POST /v1/organizations/{organization}/oauth-applications`. */
export interface OAuthApplicationRequest {
  name: string;
  domain: string;
  redirect_uri: string;
  /** Base64 of an image. */
  avatar?: string | null;
  privacy_url?: string | null;
  terms_url?: string | null;
  scopes?: Readonly<Record<string, readonly string[]>>;
}

/** The token record (seed 002, 2A), of service tokens and of tokens for users. */
export interface TokenRecord {
  id: string;
  type: 'ServiceToken' | 'OauthToken';
  name: string;
  display_name: string;
  avatar_url: string;
  created_at: string;
  updated_at: string;
  expires_at: string | null;
  last_used_at: string | null;
  actor_id: string | null;
  actor_display_name: string | null;
  actor_type: string | null;
  service_token_accesses: readonly TokenAccess[];
  /** Of tokens for users. */
  oauth_accesses_by_resource?: AccessesByResource;
  /** Shown once. */
  token?: string;
  plain_text_refresh_token?: string;
}

export interface TokenAccess {
  id: string;
  access: string;
  description: string;
  resource_name: string;
  resource_id: string;
  resource_type: string;
  resource: { id: string; name: string; created_at: string; updated_at: string; deleted_at: null };
}

interface NamedAccess {
  name: string;
  description: string;
}

export interface AccessesByResource {
  user: { users: readonly { name: string; id: string }[]; accesses: readonly NamedAccess[] };
  organization: {
    organizations: readonly { name: string; id: string; url: string }[];
    accesses: readonly NamedAccess[];
  };
  database: {
    databases: readonly { name: string; id: string; organization: string; url: string }[];
    accesses: readonly NamedAccess[];
  };
  branch: {
    branches: readonly { name: string; id: string; database: string; organization: string; url: string }[];
    accesses: readonly NamedAccess[];
  };
}

/** Body of `POST /v1/organizations/{organization}/service-tokens`. */
export interface ServiceTokenRequest {
  name?: string;
  accesses?: readonly string[];
  /** Seconds. */
  ttl?: number | null;
}

/** What a request for a token says, each as it was sent. */
export interface GrantRequest {
  grant_type?: string;
  client_id?: string;
  client_secret?: string;
  code?: string;
  redirect_uri?: string;
  code_verifier?: string;
  refresh_token?: string;
  scope?: string;
}

/** RFC 6749, 5.1. */
export interface StandardToken {
  access_token: string;
  token_type: 'Bearer';
  expires_in: number;
  refresh_token: string;
  scope: string;
}

/** RFC 7009, 2.1. */
export interface RevokeRequest {
  token?: string;
  token_type_hint?: string;
  client_id?: string;
  client_secret?: string;
}

/** What a request to authorize leads to (RFC 6749, 4.1.1). */
export type AuthorizeAnswer =
  /** Nobody may be sent anywhere: the sentence is shown. */
  | { kind: 'refused'; message: string }
  /** Back to the application. */
  | { kind: 'back'; to: string }
  | { kind: 'ask'; question: ConsentQuestion };

/** What the page of consent shows. */
export interface ConsentQuestion {
  application: {
    name: string;
    domain: string;
    organization: string;
    avatar: string;
    privacyUrl: string | null;
    termsUrl: string | null;
  };
  /** Where the form may lead. */
  redirectOrigin: string;
  /** By what they are for, those that there are. */
  scopes: readonly { group: string; scopes: readonly NamedAccess[] }[];
  /** What the user may choose. */
  owners: readonly string[];
  repositories: readonly string[];
  /** Of the owners: chosen before the user chooses. */
  chosen: string;
  /** Of the request, for the form. */
  parameters: readonly (readonly [name: string, value: string])[];
}

/** What a user lets an application act on. */
export interface ConsentChoice {
  owners: readonly string[];
  repositories: readonly string[];
  /** `owner/repository:tag` */
  tags: readonly string[];
}

/** Body of `POST /admin/authorizations`. */
export interface HeadlessConsentRequest {
  login: string;
  client_id: string;
  redirect_uri?: string;
  state?: string;
  scope?: string;
  code_challenge?: string;
  code_challenge_method?: string;
  /** Absent = all that the user has a part in. */
  organizations?: readonly string[];
  repositories?: readonly string[];
  tags?: readonly string[];
}

/** What a user has let an application do. */
export interface GrantedAuthorization {
  id: string;
  application: string;
  domain: string;
  organization: string;
  created_at: string;
  last_used_at: string | null;
  /** False = the application has not fetched a token for it yet: its code is good for some minutes. */
  is_exchanged: boolean;
  /** `acme: pull images`, one for each thing and scope. */
  accesses: readonly string[];
}

/**
 * Applications and service tokens of an organization: for its admins, root, and service tokens that have the access.
 * Throws unauthorized, forbidden, not_found.
 */
export interface HubOAuthApplicationsPort {
  list(organization: string): OAuthApplicationView[];
  get(organization: string, id: string): OAuthApplicationView;
  create(organization: string, request: OAuthApplicationRequest): Promise<CreatedOAuthApplication>;
  /** Another client secret in place of the one before. */
  renewSecret(organization: string, id: string): Promise<CreatedOAuthApplication>;
  remove(organization: string, id: string): Promise<void>;
  tokens(organization: string, id: string): TokenRecord[];
  token(organization: string, id: string, token: string): TokenRecord;
  removeToken(organization: string, id: string, token: string): Promise<void>;
  serviceTokens(organization: string): TokenRecord[];
  serviceToken(organization: string, id: string): TokenRecord;
  createServiceToken(organization: string, request: ServiceTokenRequest): Promise<TokenRecord>;
  removeServiceToken(organization: string, id: string): Promise<void>;
}

/** Tokens for codes and refresh tokens. Throws errors with `details.oauth`, the word of RFC 6749. */
export interface HubOAuthGrantsPort {
  /** At the seed's path, for who has a service token of the organization. */
  exchange(
    organization: string,
    id: string,
    request: GrantRequest,
    credentials: HubCredentials,
  ): Promise<TokenRecord>;
  /** RFC 6749, 3.2. The header `Authorization` may hold the client's id and secret. */
  grant(request: GrantRequest, credentials: HubCredentials): Promise<StandardToken>;
  /** RFC 7009. */
  revoke(request: RevokeRequest, credentials: HubCredentials): Promise<void>;
}

/** Users who are asked whether an application may act for them. */
export interface HubConsentPort {
  /** For who is signed in, or for nobody: then `ask` says that somebody has to sign in. */
  ask(query: URLSearchParams): AuthorizeAnswer;
  /** The user has decided. Throws InvalidFieldsError for what cannot be chosen. */
  decide(query: URLSearchParams, choice: ConsentChoice | 'denied'): Promise<AuthorizeAnswer>;
  /** Root, for a user on a machine without pages. */
  decideFor(request: HeadlessConsentRequest): Promise<{ redirect_to: string }>;
  /** Of the user at the pages. */
  mine(): GrantedAuthorization[];
  end(id: string): Promise<void>;
}

export interface HubOAuthPort {
  readonly applications: HubOAuthApplicationsPort;
  readonly grants: HubOAuthGrantsPort;
  readonly consent: HubConsentPort;
  /** Undefined = there is none. */
  avatar(application: string): { mediaType: string; bytes: Buffer } | undefined;
}
