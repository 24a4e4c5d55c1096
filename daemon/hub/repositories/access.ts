import type { Account } from '../identity/account.ts';
import type { Caller } from '../identity/caller.ts';
import { hasPermission, type Level, type Permission } from '../identity/tokens/permissions.ts';
import { hasScope, type Scope } from '../identity/tokens/scopes.ts';
import type { Repository } from './repository.ts';

/** What a person may do with a repository, each all that those before it may: pull, push, administer. */
export const REPOSITORY_ROLES = ['read', 'write', 'admin'] as const;

export type RepositoryRole = (typeof REPOSITORY_ROLES)[number];

/** What a request wants with a repository. */
export interface Need {
  /** Of the person: owners and admins of the organization are `admin`, its members `read`; see Grants. */
  role: RepositoryRole;
  /** Of a fine-grained token. */
  permission: Permission;
  level: Level;
  /** Of a classic token: any of them suffices. A public repository may be read without. */
  scopes: readonly Scope[];
}

export type Verdict =
  | { kind: 'granted' }
  /** The caller may not even know that it is there. */
  | { kind: 'hidden' }
  /** It may be seen; `accepted` says what the token lacks, for a header. */
  | { kind: 'refused'; lacking: 'role' | 'permission' | 'scope' };

interface Facts {
  repository: Repository;
  /** What the caller's person may do with it; undefined = no more than everybody. */
  role: RepositoryRole | undefined;
}

/** Whether a caller gets what it needs of a repository. Pure. */
export function judge(caller: Caller, need: Need, { repository, role }: Facts): Verdict {
  if (caller.kind === 'root') {
    return { kind: 'granted' };
  }
  if (caller.kind === 'anonymous') {
    const isForAll = !repository.isPrivate && need.role === 'read' && need.level === 'read';
    return isForAll ? { kind: 'granted' } : hidden(repository);
  }
  const { token } = caller;
  const isReached = token.kind === 'classic' || reaches(token, repository);
  const canSee = !repository.isPrivate || (role !== undefined && isReached && mayReadPrivate(caller));
  if (!canSee) {
    return { kind: 'hidden' };
  }
  const isOpen = !repository.isPrivate && need.role === 'read' && need.level === 'read';
  if (isOpen) {
    return { kind: 'granted' };
  }
  if (role === undefined || !covers(role, need.role)) {
    return { kind: 'refused', lacking: 'role' };
  }
  if (token.kind === 'classic') {
    return need.scopes.some((scope) => hasScope(token.scopes, scope))
      ? { kind: 'granted' }
      : { kind: 'refused', lacking: 'scope' };
  }
  return isReached && hasPermission(token.permissions, need.permission, need.level)
    ? { kind: 'granted' }
    : { kind: 'refused', lacking: 'permission' };
}

/** Whether who has one role may do what another one is needed for. */
export function covers(has: RepositoryRole, needed: RepositoryRole): boolean {
  return REPOSITORY_ROLES.indexOf(has) >= REPOSITORY_ROLES.indexOf(needed);
}

/** Whether a fine-grained token is for a repository at all. */
function reaches(
  token: { resourceOwner: Pick<Account, 'id'>; repositories: 'all' | readonly number[] },
  repository: Repository,
): boolean {
  return (
    token.resourceOwner.id === repository.owner.id &&
    (token.repositories === 'all' || token.repositories.includes(repository.id))
  );
}

/** A classic token needs `repo` to see private repositories, or a scope of packages to see what is in them. */
function mayReadPrivate({ token }: Extract<Caller, { kind: 'user' }>): boolean {
  return (
    token.kind === 'fine-grained' || ['repo', 'read:packages'].some((scope) => hasScope(token.scopes, scope))
  );
}

function hidden(repository: Repository): Verdict {
  return repository.isPrivate ? { kind: 'hidden' } : { kind: 'refused', lacking: 'role' };
}
