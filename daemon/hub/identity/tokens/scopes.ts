import { limits } from '../../../base/limits.ts';
import type { InvalidField } from '../../../base/invalid-fields.ts';

/**
 * What classic tokens may be given, each with the scopes that it covers (GitHub: scopes for OAuth apps). Scopes of what
 * this hub does not have are not taken.
 */
const COVERS: ReadonlyMap<string, readonly string[]> = new Map([
  ['repo', ['public_repo', 'repo:status', 'repo_deployment', 'repo:invite', 'security_events']],
  ['public_repo', []],
  ['repo:status', []],
  ['repo_deployment', []],
  ['repo:invite', []],
  ['security_events', []],
  ['admin:repo_hook', ['write:repo_hook', 'read:repo_hook']],
  ['write:repo_hook', ['read:repo_hook']],
  ['read:repo_hook', []],
  ['admin:org', ['write:org', 'read:org']],
  ['write:org', ['read:org']],
  ['read:org', []],
  ['user', ['read:user', 'user:email']],
  ['read:user', []],
  ['user:email', []],
  ['write:packages', ['read:packages']],
  ['read:packages', []],
  ['delete:packages', []],
  ['delete_repo', []],
]);

export type Scope = string;

/** Without those that another one covers, each once, in the order of the table. Unknown ones stay out. */
export function normaliseScopes(scopes: readonly Scope[]): Scope[] {
  const asked = new Set(scopes);
  const covered = new Set(scopes.flatMap((scope) => COVERS.get(scope) ?? []));
  return [...COVERS.keys()].filter((scope) => asked.has(scope) && !covered.has(scope));
}

/** Whether one of the scopes that a token has is, or covers, the one that is needed. */
export function hasScope(scopes: readonly Scope[], needed: Scope): boolean {
  return scopes.some((scope) => scope === needed || COVERS.get(scope)?.includes(needed) === true);
}

export function scopesProblem(scopes: readonly string[]): InvalidField | undefined {
  const unknown = scopes.find((scope) => !COVERS.has(scope));
  return unknown === undefined
    ? undefined
    : {
        resource: 'Token',
        field: 'scopes',
        code: 'invalid',
        message: `must be of ${[...COVERS.keys()].join(', ')}`.slice(0, limits.hubDescriptionMax),
        value: unknown,
      };
}
