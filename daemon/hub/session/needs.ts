import type { Need } from '../repositories/access.ts';

/** What each operation wants with a repository (seed 001 section 4; GitHub: permissions of fine-grained tokens). */
export const NEEDS = {
  see: {
    role: 'read',
    permission: 'metadata',
    level: 'read',
    scopes: ['repo', 'read:packages'],
    right: 'see',
  },
  pull: {
    role: 'read',
    permission: 'packages',
    level: 'read',
    scopes: ['repo', 'read:packages'],
    right: 'pull',
  },
  push: {
    role: 'write',
    permission: 'packages',
    level: 'write',
    scopes: ['repo', 'write:packages'],
    right: 'push',
  },
  deletePackage: {
    role: 'admin',
    permission: 'packages',
    level: 'write',
    scopes: ['delete:packages'],
    right: 'delete-images',
  },
  seeCollaborators: {
    role: 'write',
    permission: 'metadata',
    level: 'read',
    scopes: ['repo'],
    right: 'see-collaborators',
  },
  /** Also of a collaborator of itself. */
  leave: { role: 'read', permission: 'administration', level: 'write', scopes: ['repo'], right: 'edit' },
  readHooks: {
    role: 'admin',
    permission: 'repository_hooks',
    level: 'read',
    scopes: ['read:repo_hook', 'repo'],
    right: 'read-hooks',
  },
  writeHooks: {
    role: 'admin',
    permission: 'repository_hooks',
    level: 'write',
    scopes: ['write:repo_hook', 'repo'],
    right: 'write-hooks',
  },
  removeHooks: {
    role: 'admin',
    permission: 'repository_hooks',
    level: 'write',
    scopes: ['admin:repo_hook', 'repo'],
    right: 'remove-hooks',
  },
  edit: { role: 'admin', permission: 'administration', level: 'write', scopes: ['repo'], right: 'edit' },
  remove: {
    role: 'admin',
    permission: 'administration',
    level: 'write',
    scopes: ['delete_repo'],
    right: 'remove',
  },
} as const satisfies Record<string, Need>;
