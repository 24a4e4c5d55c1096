import type { SimpleUser } from './account.ts';

/** GitHub: `repository`, of an image repository. Addresses of what the hub does not have answer 404. */
export interface HubRepository {
  id: number;
  node_id: string;
  name: string;
  full_name: string;
  owner: SimpleUser;
  private: boolean;
  visibility: 'public' | 'private';
  html_url: string;
  description: string | null;
  fork: boolean;
  url: string;
  created_at: string;
  updated_at: string;
  pushed_at: string;
  /** What the caller may do. */
  permissions: { admin: boolean; push: boolean; pull: boolean };
  [field: string]: unknown;
}

/** Body of `POST /user/repos` and `POST /orgs/{org}/repos`. */
export interface RepositoryCreateRequest {
  name: string;
  description?: string | null;
  private?: boolean;
}

/** Body of `PATCH /repos/{owner}/{repo}`. */
export interface RepositoryEditRequest {
  description?: string | null;
  private?: boolean;
}
