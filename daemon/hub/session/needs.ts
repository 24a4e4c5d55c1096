import type { Need } from '../repositories/access.ts';

/** What each operation wants with a repository (seed 001 section 4; GitHub: permissions of fine-grained tokens). */
export const NEEDS = {
  see: { role: 'read', permission: 'metadata', level: 'read', scopes: ['repo', 'read:packages'] },
  pull: { role: 'read', permission: 'packages', level: 'read', scopes: ['repo', 'read:packages'] },
  push: { role: 'write', permission: 'packages', level: 'write', scopes: ['repo', 'write:packages'] },
  deletePackage: { role: 'admin', permission: 'packages', level: 'write', scopes: ['delete:packages'] },
  seeCollaborators: { role: 'write', permission: 'metadata', level: 'read', scopes: ['repo'] },
  /** Also of a collaborator of itself. */
  leave: { role: 'read', permission: 'administration', level: 'write', scopes: ['repo'] },
  readHooks: {
    role: 'admin',
    permission: 'repository_hooks',
    level: 'read',
    scopes: ['read:repo_hook', 'repo'],
  },
  writeHooks: {
    role: 'admin',
    permission: 'repository_hooks',
    level: 'write',
    scopes: ['write:repo_hook', 'repo'],
  },
  removeHooks: {
    role: 'admin',
    permission: 'repository_hooks',
    level: 'write',
    scopes: ['admin:repo_hook', 'repo'],
  },
  edit: { role: 'admin', permission: 'administration', level: 'write', scopes: ['repo'] },
  remove: { role: 'admin', permission: 'administration', level: 'write', scopes: ['delete_repo'] },
} as const satisfies Record<string, Need>;
