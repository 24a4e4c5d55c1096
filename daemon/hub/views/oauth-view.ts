import type {
  AccessesByResource,
  OAuthApplicationView,
  TokenAccess,
  TokenRecord,
} from '../../../api/types/hub/oauth.ts';
import type { GrantToken, ServiceToken } from '../identity/tokens/token.ts';
import type { OAuthApplication } from '../oauth/applications/application.ts';
import { accessFacts, GROUPS, SCOPE_NAMES, scopeFacts, type Group } from '../oauth/scopes/names.ts';
import type { Addresses } from './addresses.ts';
import { timeOrNull, timeText } from './times.ts';

/** What accesses are for, with the names that it has today. Those that are gone are left out. */
export interface NamedResource {
  group: Group;
  /** Unique among those of its group. */
  id: string;
  name: string;
  owner: string;
  /** Of a tag. */
  repository?: string;
  createdMs: number;
  scopes: readonly string[];
}

export function oauthApplicationView(
  application: OAuthApplication,
  tokens: number,
  addresses: Addresses,
): OAuthApplicationView {
  const { scopes } = application;
  return {
    id: application.id,
    name: application.name,
    redirect_uri: application.redirectUri,
    domain: application.domain,
    privacy_url: application.privacyUrl,
    terms_url: application.termsUrl,
    scopes: GROUPS.flatMap((group) => (scopes[group] ?? []).map((name) => `${group}:${name}`)).join(' '),
    scopes_by_resource: scopes,
    all_scopes_by_resource: SCOPE_NAMES,
    avatar: avatarAddress(application, addresses),
    client_id: application.clientId,
    tokens,
    dcr: false,
    single_org_authorization: false,
    requires_org_scope: false,
    created_at: timeText(application.createdMs),
    updated_at: timeText(application.updatedMs),
  };
}

/** Empty = it has no image. */
export function avatarAddress({ id, avatar }: OAuthApplication, addresses: Addresses): string {
  return avatar === null ? '' : `${addresses.base}/avatars/oauth-applications/${id}`;
}

export function serviceTokenView(token: ServiceToken, createdMs: number): TokenRecord {
  const { organization, maker } = token;
  const resource: NamedResource = {
    group: 'organization',
    id: String(organization.id),
    name: organization.name,
    owner: organization.name,
    createdMs,
    scopes: token.accesses,
  };
  return {
    ...common(token),
    type: 'ServiceToken',
    name: token.name,
    display_name: token.name === '' ? `Service token ${token.publicId}` : token.name,
    avatar_url: '',
    actor_id: maker === null ? null : String(maker.id),
    actor_display_name: maker?.name ?? null,
    actor_type: maker === null ? null : 'User',
    service_token_accesses: accessesOf([resource]),
  };
}

export function grantTokenView(
  token: GrantToken,
  application: OAuthApplication,
  resources: readonly NamedResource[],
  addresses: Addresses,
): TokenRecord {
  return {
    ...common(token),
    type: 'OauthToken',
    name: application.name,
    display_name: application.name,
    avatar_url: avatarAddress(application, addresses),
    actor_id: String(token.user.id),
    actor_display_name: token.user.name,
    actor_type: 'User',
    service_token_accesses: accessesOf(resources),
    oauth_accesses_by_resource: byResource(resources, addresses),
  };
}

function common(token: ServiceToken | GrantToken) {
  return {
    id: token.publicId,
    created_at: timeText(token.createdMs),
    updated_at: timeText(token.createdMs),
    expires_at: timeOrNull(token.expiresMs),
    last_used_at: timeOrNull(token.lastUsedMs),
  };
}

const TYPES: Readonly<Record<Group, string>> = {
  user: 'User',
  organization: 'Organization',
  database: 'Database',
  branch: 'Branch',
};

function accessesOf(resources: readonly NamedResource[]): TokenAccess[] {
  return resources.flatMap(({ group, id, name, createdMs, scopes }) =>
    scopes.map((access) => ({
      id: `${group}-${id}-${access}`,
      access,
      description: describe(group, access),
      resource_name: name,
      resource_id: id,
      resource_type: TYPES[group],
      resource: {
        id,
        name,
        created_at: timeText(createdMs),
        updated_at: timeText(createdMs),
        deleted_at: null,
      },
    })),
  );
}

function byResource(resources: readonly NamedResource[], { base }: Addresses): AccessesByResource {
  const of = (group: Group): NamedResource[] => resources.filter((one) => one.group === group);
  const accesses = (group: Group) =>
    [...new Set(of(group).flatMap(({ scopes }) => scopes))].map((name) => ({
      name,
      description: describe(group, name),
    }));
  return {
    user: { users: of('user').map(({ id, name }) => ({ id, name })), accesses: accesses('user') },
    organization: {
      organizations: of('organization').map(({ id, name }) => ({ id, name, url: `${base}/${name}` })),
      accesses: accesses('organization'),
    },
    database: {
      databases: of('database').map(({ id, name, owner }) => ({
        id,
        name,
        organization: owner,
        url: `${base}/${owner}/${name}`,
      })),
      accesses: accesses('database'),
    },
    branch: {
      branches: of('branch').map(({ id, name, owner, repository = '' }) => ({
        id,
        name,
        database: repository,
        organization: owner,
        url: `${base}/${owner}/${repository}`,
      })),
      accesses: accesses('branch'),
    },
  };
}

export function describe(group: Group, scope: string): string {
  const facts = group === 'organization' ? accessFacts(scope) : scopeFacts(group, scope);
  return facts?.text ?? '';
}
