import type { SimpleUser } from './account.ts';

/** GitHub: `collaborator`. */
export interface HubCollaborator extends SimpleUser {
  permissions: CollaboratorPermissions;
  role_name: RoleName;
}

export interface CollaboratorPermissions {
  admin: boolean;
  maintain: boolean;
  push: boolean;
  triage: boolean;
  pull: boolean;
}

export type RoleName = 'admin' | 'write' | 'read';

/** GitHub: `repository-collaborator-permission`. `none` for who may not even see a private repository. */
export interface CollaboratorPermission {
  permission: RoleName | 'none';
  role_name: RoleName | '';
  user: HubCollaborator | null;
}

/** Body of `PUT /repos/{owner}/{repo}/collaborators/{username}`. */
export interface CollaboratorRequest {
  permission?: 'pull' | 'push' | 'admin';
}

/** Collaborators of repositories. Users only: those who have a part as members of the organization stand beside. */
export interface HubCollaboratorsPort {
  list(owner: string, repository: string): HubCollaborator[];
  /** Throws not_found for who is none. */
  check(owner: string, repository: string, user: string): void;
  permission(owner: string, repository: string, user: string): CollaboratorPermission;
  /** At once: there are no invitations. */
  add(owner: string, repository: string, user: string, request: CollaboratorRequest): Promise<void>;
  remove(owner: string, repository: string, user: string): Promise<void>;
}
