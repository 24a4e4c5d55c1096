import type { SimpleUser } from './account.ts';
import type { HubRepository } from './repository.ts';

/** GitHub: `integration`, an app. */
export interface HubApp {
  id: number;
  slug: string;
  node_id: string;
  client_id: string;
  owner: SimpleUser;
  name: string;
  description: string | null;
  external_url: string;
  html_url: string;
  created_at: string;
  updated_at: string;
  permissions: Readonly<Record<string, string>>;
  events: readonly string[];
  installations_count: number;
}

/** The only answer that holds the secrets (GitHub: conversion of a manifest). */
export interface CreatedHubApp extends HubApp {
  client_secret: string;
  webhook_secret: null;
  /** Private key, PKCS #8. */
  pem: string;
}

/** GitHub: `installation`. */
export interface HubInstallation {
  id: number;
  account: SimpleUser;
  access_tokens_url: string;
  repositories_url: string;
  html_url: string;
  app_id: number;
  app_slug: string;
  client_id: string;
  target_id: number;
  target_type: 'User' | 'Organization';
  repository_selection: 'all' | 'selected';
  permissions: Readonly<Record<string, string>>;
  events: readonly string[];
  single_file_name: null;
  has_multiple_single_files: false;
  single_file_paths: readonly string[];
  created_at: string;
  updated_at: string;
  suspended_at: string | null;
  suspended_by: null;
}

/** GitHub: `installation-token`. */
export interface HubInstallationToken {
  token: string;
  expires_at: string;
  permissions: Readonly<Record<string, string>>;
  repository_selection: 'all' | 'selected';
  /** Only where they are selected. */
  repositories?: readonly HubRepository[];
}

/** Body of `POST /app/installations/{installation_id}/access_tokens`. */
export interface InstallationTokenRequest {
  repositories?: readonly string[];
  repository_ids?: readonly number[];
  permissions?: Readonly<Record<string, string>>;
}

/** GitHub: `authorization`. */
export interface HubAuthorization {
  id: number;
  url: string;
  app: { client_id: string; name: string; url: string };
  token: string;
  hashed_token: string;
  token_last_eight: string;
  note: string | null;
  note_url: string | null;
  scopes: readonly string[] | null;
  fingerprint: null;
  user: SimpleUser;
  created_at: string;
  updated_at: string;
  expires_at: string | null;
}

/** An OAuth application: the hub's own shape, as GitHub has no such call. */
export interface HubOAuthApp {
  id: number;
  client_id: string;
  name: string;
  description: string | null;
  url: string;
  callback_url: string | null;
  owner: SimpleUser;
  created_at: string;
  updated_at: string;
}

export interface CreatedHubOAuthApp extends HubOAuthApp {
  client_secret: string;
}

/** Body of `POST /admin/apps`. */
export interface AppCreateRequest {
  name: string;
  owner: string;
  description?: string | null;
  url?: string | null;
  permissions?: Readonly<Record<string, string>>;
  events?: readonly string[];
}

/** Body of `POST /admin/oauth-apps`. */
export interface OAuthAppCreateRequest {
  name: string;
  owner: string;
  description?: string | null;
  url?: string | null;
  callback_url?: string | null;
}

export interface HubAppKey {
  id: number;
  pem: string;
}

/** What apps do as themselves: those by JSON web token, and those by a token of an installation. */
export interface HubAppsPort {
  /** The app that asks. */
  me(): HubApp;
  /** By its name in addresses, for all. */
  app(slug: string): HubApp;
  installations(): HubInstallation[];
  installation(id: number): HubInstallation;
  ofRepository(owner: string, repository: string): HubInstallation;
  ofUser(name: string): HubInstallation;
  ofOrganization(name: string): HubInstallation;
  mintToken(id: number, request: InstallationTokenRequest): Promise<HubInstallationToken>;
  suspend(id: number, isSuspended: boolean): Promise<void>;
  removeInstallation(id: number): Promise<void>;
  /** Of the installation whose token asks. */
  repositories(): { repository_selection: 'all' | 'selected'; repositories: HubRepository[] };
  /** The token that asks. */
  revokeToken(): Promise<void>;
  /** Installations of the app whose user token asks, at accounts that the user has a part in. */
  ofMyUser(): HubInstallation[];
}

/** Applications' tokens for their users, and what root does with applications. */
export interface HubApplicationsPort {
  /** Throws not_found for what is no token of the application; the caller must be the application itself. */
  check(clientId: string, token: string): HubAuthorization;
  reset(clientId: string, token: string): Promise<HubAuthorization>;
  revoke(clientId: string, token: string): Promise<void>;
  revokeGrant(clientId: string, token: string): Promise<void>;
  createApp(request: AppCreateRequest): Promise<CreatedHubApp>;
  apps(): HubApp[];
  removeApp(slug: string): Promise<void>;
  addKey(slug: string): Promise<HubAppKey>;
  removeKey(slug: string, id: number): Promise<void>;
  install(slug: string, account: string, repositories?: readonly string[]): Promise<HubInstallation>;
  installations(): HubInstallation[];
  uninstall(id: number): Promise<void>;
  createOAuthApp(request: OAuthAppCreateRequest): Promise<CreatedHubOAuthApp>;
  oauthApps(): HubOAuthApp[];
  removeOAuthApp(clientId: string): Promise<void>;
  /** A token of an application for a user, on a machine without pages to agree at. */
  mint(clientId: string, user: string, scopes: readonly string[]): Promise<HubAuthorization>;
}
