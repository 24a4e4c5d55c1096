import type {
  HubApp,
  HubAuthorization,
  HubInstallation,
  HubOAuthApp,
} from '../../../api/types/hub/applications.ts';
import type { App, Application, Installation, OAuthApp } from '../identity/apps/app.ts';
import type { DelegatedToken } from '../identity/tokens/token.ts';
import { simpleUser } from './account-view.ts';
import type { Addresses } from './addresses.ts';
import { nodeId } from './node-id.ts';
import { timeOrNull, timeText } from './times.ts';

export function appView(app: App, installations: number, addresses: Addresses): HubApp {
  return {
    id: app.id,
    slug: app.slug,
    node_id: nodeId('App', app.id),
    client_id: app.clientId,
    owner: simpleUser(app.owner, addresses),
    name: app.name,
    description: app.description,
    external_url: app.url,
    html_url: `${addresses.base}/apps/${app.slug}`,
    created_at: timeText(app.createdMs),
    updated_at: timeText(app.updatedMs),
    permissions: app.permissions,
    events: app.events,
    installations_count: installations,
  };
}

export function installationView(
  installation: Installation,
  app: App,
  addresses: Addresses,
): HubInstallation {
  const { id, account } = installation;
  return {
    id,
    account: simpleUser(account, addresses),
    access_tokens_url: `${addresses.base}/app/installations/${id}/access_tokens`,
    repositories_url: `${addresses.base}/installation/repositories`,
    html_url: `${addresses.base}/settings/installations/${id}`,
    app_id: app.id,
    app_slug: app.slug,
    client_id: app.clientId,
    target_id: account.id,
    target_type: account.kind === 'user' ? 'User' : 'Organization',
    repository_selection: installation.repositories === 'all' ? 'all' : 'selected',
    permissions: app.permissions,
    events: app.events,
    single_file_name: null,
    has_multiple_single_files: false,
    single_file_paths: [],
    created_at: timeText(installation.createdMs),
    updated_at: timeText(installation.updatedMs),
    suspended_at: timeOrNull(installation.suspendedMs),
    suspended_by: null,
  };
}

export function oauthAppView(application: OAuthApp, addresses: Addresses): HubOAuthApp {
  return {
    id: application.id,
    client_id: application.clientId,
    name: application.name,
    description: application.description,
    url: application.url,
    callback_url: application.callbackUrl,
    owner: simpleUser(application.owner, addresses),
    created_at: timeText(application.createdMs),
    updated_at: timeText(application.updatedMs),
  };
}

/** `secret`: the token itself, which whoever asks has shown or gets now. */
export function authorizationView(
  { token, secret }: { token: DelegatedToken; secret: string },
  application: Application,
  addresses: Addresses,
): HubAuthorization {
  const { clientId, name, url } = application;
  return {
    id: token.id,
    url: `${addresses.base}/authorizations/${token.id}`,
    // GitHub wants an address; an application without one is the hub's.
    app: { client_id: clientId, name, url: url === '' ? addresses.base : url },
    token: secret,
    hashed_token: token.hash,
    token_last_eight: token.lastEight,
    note: null,
    note_url: null,
    scopes: token.kind === 'oauth' ? token.scopes : [],
    fingerprint: null,
    user: simpleUser({ kind: 'user', ...token.user }, addresses),
    created_at: timeText(token.createdMs),
    updated_at: timeText(token.createdMs),
    expires_at: timeOrNull(token.expiresMs),
  };
}
