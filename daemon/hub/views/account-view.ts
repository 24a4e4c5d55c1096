import type {
  FullOrganization,
  OrganizationMembership,
  PrivateUser,
  PublicUser,
  SimpleOrganization,
  SimpleUser,
} from '../../../api/types/hub/account.ts';
import type { Organization, Role, User } from '../identity/account.ts';
import type { Addresses } from './addresses.ts';
import { nodeId } from './node-id.ts';
import { timeText } from './times.ts';

/** How many repositories an account has. */
export interface Counts {
  public: number;
  private: number;
}

/** An account as an owner or a sender. */
export function simpleUser(
  account: { kind: 'user' | 'organization'; name: string; id: number },
  addresses: Addresses,
): SimpleUser {
  const type = account.kind === 'user' ? 'User' : 'Organization';
  return {
    login: account.name,
    id: account.id,
    node_id: nodeId(type, account.id),
    gravatar_id: '',
    ...addresses.user(account.name),
    type,
    site_admin: false,
  };
}

export function publicUser(user: User, counts: Counts, addresses: Addresses): PublicUser {
  return {
    ...simpleUser(user, addresses),
    name: null,
    company: null,
    blog: '',
    location: null,
    // Addresses of mail are for their owner.
    email: null,
    hireable: null,
    bio: null,
    public_repos: counts.public,
    public_gists: 0,
    followers: 0,
    following: 0,
    created_at: timeText(user.createdMs),
    updated_at: timeText(user.createdMs),
  };
}

export function privateUser(user: User, counts: Counts, addresses: Addresses): PrivateUser {
  return {
    ...publicUser(user, counts, addresses),
    email: user.email,
    private_gists: 0,
    total_private_repos: counts.private,
    owned_private_repos: counts.private,
    disk_usage: 0,
    collaborators: 0,
    two_factor_authentication: false,
  };
}

/** An organization where only its name and id are known. */
export function simpleOrganization(
  organization: Pick<Organization, 'name' | 'id'>,
  addresses: Addresses,
): SimpleOrganization {
  return {
    login: organization.name,
    id: organization.id,
    node_id: nodeId('Organization', organization.id),
    ...addresses.organization(organization.name),
    description: null,
  };
}

export function fullOrganization(
  organization: Organization,
  counts: Counts,
  addresses: Addresses,
): FullOrganization {
  return {
    ...simpleOrganization(organization, addresses),
    html_url: `${addresses.base}/${organization.name}`,
    has_organization_projects: false,
    has_repository_projects: false,
    public_repos: counts.public,
    public_gists: 0,
    followers: 0,
    following: 0,
    type: 'Organization',
    created_at: timeText(organization.createdMs),
    updated_at: timeText(organization.createdMs),
    archived_at: null,
  };
}

export function membershipView(
  { organization, user, role }: { organization: Organization; user: User; role: Role },
  addresses: Addresses,
): OrganizationMembership {
  const { url } = addresses.organization(organization.name);
  return {
    url: `${url}/memberships/${user.name}`,
    state: 'active',
    role,
    organization_url: url,
    organization: simpleOrganization(organization, addresses),
    user: simpleUser(user, addresses),
  };
}
