import { unreachable } from '../../../base/errors.ts';
import { scopeFacts, type Right } from './names.ts';

/** What an application was given: scopes, and for what. */
export interface Access {
  resource: Resource;
  scopes: readonly string[];
}

/** By ids: what takes the name of something removed is another. */
export type Resource =
  | { group: 'user'; user: number }
  /** An owner of repositories: an organization, or the user's own account. */
  | { group: 'organization'; owner: number }
  | { group: 'database'; repository: number }
  | { group: 'branch'; repository: number; tag: string };

/** What a right is needed for. A repository without a tag: all that is in it. */
export type Place =
  | { kind: 'user'; user: number }
  | { kind: 'owner'; owner: number }
  | { kind: 'repository'; owner: number; repository: number }
  | { kind: 'tag'; owner: number; repository: number; tag: string };

/** Whether accesses suffice for a right at a place: what is granted for the broader covers the narrower. Pure. */
export function covers(accesses: readonly Access[], right: Right, place: Place): boolean {
  return accesses.some(
    ({ resource, scopes }) =>
      isAbout(resource, place) &&
      scopes.some((scope) => scopeFacts(resource.group, scope)?.rights.includes(right) === true),
  );
}

/** Tags of a repository for which a right is granted one by one, beside what is granted for all of it. Pure. */
export function tagsWith(accesses: readonly Access[], right: Right, repository: number): string[] {
  return accesses.flatMap(({ resource, scopes }) =>
    resource.group === 'branch' &&
    resource.repository === repository &&
    scopes.some((scope) => scopeFacts('branch', scope)?.rights.includes(right) === true)
      ? [resource.tag]
      : [],
  );
}

function isAbout(resource: Resource, place: Place): boolean {
  switch (resource.group) {
    case 'user':
      return place.kind === 'user' && place.user === resource.user;
    case 'organization':
      return place.kind !== 'user' && place.owner === resource.owner;
    case 'database':
      return (
        (place.kind === 'repository' || place.kind === 'tag') && place.repository === resource.repository
      );
    case 'branch':
      return place.kind === 'tag' && place.repository === resource.repository && place.tag === resource.tag;
    default:
      return unreachable(resource);
  }
}
