import type { RepositoryRole } from './access.ts';

/**
 * A user who was given a part in a repository beside its owner and the members of its organization. Records
 * `collaborator/<repository's id>/<user's id>`.
 */
export interface Collaborator {
  repository: number;
  user: number;
  role: RepositoryRole;
}
