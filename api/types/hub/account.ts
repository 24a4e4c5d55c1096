/** Addresses of GitHub's `simple-user`: all that its schema demands. Those of what the hub does not have answer 404. */
export interface UserAddresses {
  avatar_url: string;
  url: string;
  html_url: string;
  followers_url: string;
  following_url: string;
  gists_url: string;
  starred_url: string;
  subscriptions_url: string;
  organizations_url: string;
  repos_url: string;
  events_url: string;
  received_events_url: string;
}

/** An account where another object names it (GitHub: `simple-user`). */
export interface SimpleUser extends UserAddresses {
  login: string;
  id: number;
  node_id: string;
  gravatar_id: string;
  type: 'User' | 'Organization';
  site_admin: boolean;
}

/** GitHub: `public-user`. */
export interface PublicUser extends SimpleUser {
  name: string | null;
  company: null;
  blog: string;
  location: null;
  email: string | null;
  hireable: null;
  bio: null;
  public_repos: number;
  public_gists: number;
  followers: number;
  following: number;
  /** RFC 3339, UTC, seconds. */
  created_at: string;
  updated_at: string;
}

/** GitHub: `private-user`: a user to itself. */
export interface PrivateUser extends PublicUser {
  private_gists: number;
  total_private_repos: number;
  owned_private_repos: number;
  /** Kilobytes. */
  disk_usage: number;
  collaborators: number;
  two_factor_authentication: boolean;
}

/** GitHub: `organization-simple`. */
export interface SimpleOrganization {
  login: string;
  id: number;
  node_id: string;
  url: string;
  repos_url: string;
  events_url: string;
  hooks_url: string;
  issues_url: string;
  members_url: string;
  public_members_url: string;
  avatar_url: string;
  description: string | null;
}

/** GitHub: `organization-full`. */
export interface FullOrganization extends SimpleOrganization {
  html_url: string;
  has_organization_projects: boolean;
  has_repository_projects: boolean;
  public_repos: number;
  public_gists: number;
  followers: number;
  following: number;
  type: 'Organization';
  created_at: string;
  updated_at: string;
  archived_at: null;
}

/** GitHub: `org-membership`. */
export interface OrganizationMembership {
  url: string;
  state: 'active';
  role: 'admin' | 'member';
  organization_url: string;
  organization: SimpleOrganization;
  user: SimpleUser;
}

/** Body of `POST /admin/users` (GitHub Enterprise Server), and a password for the hub's pages. */
export interface UserCreateRequest {
  login: string;
  email?: string | null;
  password?: string;
}

/** Body of `POST /admin/organizations` (GitHub Enterprise Server). */
export interface OrganizationCreateRequest {
  login: string;
  /** Login of its first admin. */
  admin: string;
}

/** Body of `PATCH /admin/organizations/{org}`. */
export interface OrganizationConfigureRequest {
  /** Classic tokens must be authorized for it. */
  single_sign_on?: boolean;
  /** It has the higher limits of requests. */
  enterprise?: boolean;
}
