import { unreachable } from '../../base/errors.ts';
import { scopesOf, type Caller } from '../identity/caller.ts';
import {
  hasPermission,
  type Level,
  type Permission,
  type Permissions,
} from '../identity/tokens/permissions.ts';
import type { Right } from '../oauth/scopes/names.ts';
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
  /** Of what was granted to an OAuth application of an organization, or to one of its service tokens. */
  right: Right;
}

export type Verdict =
  | { kind: 'granted' }
  /** The caller may not even know that it is there. */
  | { kind: 'hidden' }
  /** It may be seen; what is lacking goes into a header. */
  | { kind: 'refused'; lacking: 'role' | 'permission' | 'scope' | 'right' | 'sign-on' };

export interface Facts {
  repository: Repository;
  /** What the caller's person may do with it, an app what it is installed for; undefined = no more than everybody. */
  role: RepositoryRole | undefined;
  /** What the caller's credentials may here, where they have permissions; undefined = they are not for it at all. */
  permissions: Permissions | undefined;
  /** What was granted to the caller here, where it has what is granted so. */
  rights: ReadonlySet<Right>;
  /** The organization asks for single sign-on, and this token was not authorized for it. */
  lacksSignOn: boolean;
}

/** Whether a caller gets what it needs of a repository. Pure. */
export function judge(caller: Caller, need: Need, facts: Facts): Verdict {
  const { repository } = facts;
  const isOpen = !repository.isPrivate && need.role === 'read' && need.level === 'read';
  switch (caller.kind) {
    case 'root':
      return GRANTED;
    case 'anonymous':
    case 'app':
    case 'client':
      return isOpen ? GRANTED : hiddenOr(repository, 'role');
    case 'page':
      return isOpen ? GRANTED : (judgeRole(need, facts) ?? GRANTED);
    case 'user':
    case 'installation':
    case 'workflow':
      return isOpen ? GRANTED : judgeToken(caller, need, facts);
    case 'delegate':
    case 'service':
      return isOpen ? GRANTED : judgeRights(need, facts);
    default:
      return unreachable(caller);
  }
}

const GRANTED: Verdict = { kind: 'granted' };

function judgeRights(need: Need, facts: Facts): Verdict {
  const { repository, rights } = facts;
  if (repository.isPrivate && !rights.has('see')) {
    return { kind: 'hidden' };
  }
  const isGranted = rights.has(need.right);
  return judgeRole(need, facts) ?? (isGranted ? GRANTED : { kind: 'refused', lacking: 'right' });
}

function judgeToken(
  caller: Extract<Caller, { kind: 'user' | 'installation' | 'workflow' }>,
  need: Need,
  facts: Facts,
): Verdict {
  const { repository, permissions, lacksSignOn } = facts;
  const scopes = scopesOf(caller);
  const mayLook = scopes === undefined ? permissions !== undefined : mayReadPrivate(scopes);
  if (repository.isPrivate && !mayLook) {
    return { kind: 'hidden' };
  }
  const refused = judgeRole(need, facts);
  if (refused !== undefined) {
    return refused;
  }
  if (scopes === undefined) {
    return permissions !== undefined && hasPermission(permissions, need.permission, need.level)
      ? GRANTED
      : { kind: 'refused', lacking: 'permission' };
  }
  if (!need.scopes.some((scope) => hasScope(scopes, scope))) {
    return { kind: 'refused', lacking: 'scope' };
  }
  return lacksSignOn ? { kind: 'refused', lacking: 'sign-on' } : GRANTED;
}

/** What the person may; undefined = enough. */
function judgeRole(need: Need, { repository, role }: Facts): Verdict | undefined {
  if (role === undefined) {
    return hiddenOr(repository, 'role');
  }
  return covers(role, need.role) ? undefined : { kind: 'refused', lacking: 'role' };
}

/** Whether who has one role may do what another one is needed for. */
export function covers(has: RepositoryRole, needed: RepositoryRole): boolean {
  return REPOSITORY_ROLES.indexOf(has) >= REPOSITORY_ROLES.indexOf(needed);
}

/** A token needs `repo` to see private repositories, or a scope of packages to see what is in them. */
function mayReadPrivate(scopes: readonly Scope[]): boolean {
  return ['repo', 'read:packages'].some((scope) => hasScope(scopes, scope));
}

function hiddenOr(repository: Repository, lacking: 'role'): Verdict {
  return repository.isPrivate ? { kind: 'hidden' } : { kind: 'refused', lacking };
}
