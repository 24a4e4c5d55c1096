import { unreachable } from '../../../base/errors.ts';
import { refuseInvalid, type InvalidField } from '../../../base/invalid-fields.ts';
import { limits } from '../../../base/limits.ts';
import type { ConsentChoice } from '../../../../api/types/hub/oauth.ts';
import type { Account, User } from '../../identity/account.ts';
import type { Access } from '../../oauth/scopes/access.ts';
import type { Group, ScopesByGroup } from '../../oauth/scopes/names.ts';
import type { Repository } from '../../repositories/repository.ts';
import type { NamedResource } from '../../views/oauth-view.ts';
import type { SessionDeps } from '../session-deps.ts';

type Deps = Pick<SessionDeps, 'accounts' | 'repositories' | 'grants'>;

const TAG = /^([^/\s]+)\/([^/:\s]+):([A-Za-z0-9_][A-Za-z0-9._-]{0,127})$/;

/** Owners of which a user can let others act: itself, and the organizations that it is a member of. */
export function ownersOf({ accounts }: Deps, user: User): Account[] {
  const own = accounts.organizations().filter((one) => accounts.roleIn(one, user) !== undefined);
  return [user, ...own];
}

/** Repositories that a user has a part in, by name. */
export function repositoriesOf({ repositories, grants }: Deps, user: User): Repository[] {
  return repositories
    .all()
    .filter((one) => grants.roleOf(user, one) !== undefined)
    .toSorted((one, other) => fullName(one).localeCompare(fullName(other)));
}

/** All that a user has a part in, but for tags, which have to be named. */
export function wholeChoice(deps: Deps, user: User, scopes: ScopesByGroup): ConsentChoice {
  return {
    owners: has(scopes, 'organization') ? ownersOf(deps, user).map(({ name }) => name) : [],
    repositories: has(scopes, 'database') ? repositoriesOf(deps, user).map(fullName) : [],
    tags: [],
  };
}

/** What a user's choice gives of the scopes that are asked for. Throws InvalidFieldsError. */
export function accessesOf(deps: Deps, user: User, scopes: ScopesByGroup, choice: ConsentChoice): Access[] {
  const problems: (InvalidField | undefined)[] = [];
  const owners = new Map(ownersOf(deps, user).map((one) => [one.name.toLowerCase(), one.id]));
  const repositories = new Map(
    repositoriesOf(deps, user).map((one) => [fullName(one).toLowerCase(), one.id]),
  );
  const found = <T>(field: string, text: string, value: T | undefined): T[] => {
    problems.push(value === undefined ? wrong(field, `must be of ${user.name}`, text) : undefined);
    return value === undefined ? [] : [value];
  };
  const accesses: Access[] = [
    { resource: { group: 'user', user: user.id }, scopes: scopes.user ?? [] },
    ...each(choice.owners, (text) =>
      found('organizations', text, owners.get(text.toLowerCase())).map((owner) => ({
        resource: { group: 'organization', owner },
        scopes: scopes.organization ?? [],
      })),
    ),
    ...each(choice.repositories, (text) =>
      found('repositories', text, repositories.get(text.toLowerCase())).map((repository) => ({
        resource: { group: 'database', repository },
        scopes: scopes.database ?? [],
      })),
    ),
    ...each(choice.tags, (text) => {
      const [, owner = '', name = '', tag = ''] = TAG.exec(text) ?? [];
      const repository = repositories.get(`${owner}/${name}`.toLowerCase());
      return found('tags', text, repository).map((id) => ({
        resource: { group: 'branch', repository: id, tag },
        scopes: scopes.branch ?? [],
      }));
    }),
  ];
  const given = accesses.filter((one) => one.scopes.length > 0);
  refuseInvalid([
    ...problems,
    given.length > limits.hubGrantResourcesMax
      ? wrong('repositories', `must be ${limits.hubGrantResourcesMax} at most, with all else`, given.length)
      : undefined,
    problems.every((one) => one === undefined) && given.length === 0
      ? wrong(
          'organizations',
          'or repositories or tags must be chosen: the application may do nothing else',
          [],
        )
      : undefined,
  ]);
  return given;
}

/** What was granted, with the names of today. */
export function namedResources(
  deps: Deps,
  user: User | undefined,
  accesses: readonly Access[],
): NamedResource[] {
  return accesses.flatMap(({ resource, scopes }): NamedResource[] => {
    switch (resource.group) {
      case 'user':
        return user?.id === resource.user ? [{ ...ofAccount(user), group: 'user', scopes }] : [];
      case 'organization': {
        const owner = [...deps.accounts.users(), ...deps.accounts.organizations()].find(
          ({ id }) => id === resource.owner,
        );
        return owner === undefined ? [] : [{ ...ofAccount(owner), group: 'organization', scopes }];
      }
      case 'database':
      case 'branch': {
        const repository = deps.repositories.byId(resource.repository);
        return repository === undefined ? [] : [ofRepository(repository, resource, scopes)];
      }
      default:
        return unreachable(resource);
    }
  });
}

export function fullName({ owner, name }: Repository): string {
  return `${owner.name}/${name}`;
}

function ofAccount({ id, name, createdMs }: Account) {
  return { id: String(id), name, owner: name, createdMs };
}

function ofRepository(
  { id, name, owner, createdMs }: Repository,
  resource: Extract<Access['resource'], { repository: number }>,
  scopes: readonly string[],
): NamedResource {
  const common = { owner: owner.name, createdMs, scopes };
  return resource.group === 'database'
    ? { ...common, group: 'database', id: String(id), name }
    : { ...common, group: 'branch', id: `${id}-${resource.tag}`, name: resource.tag, repository: name };
}

function each(texts: readonly string[], of: (text: string) => Access[]): Access[] {
  return [...new Set(texts)].slice(0, limits.hubGrantResourcesMax + 1).flatMap(of);
}

function has(scopes: ScopesByGroup, group: Group): boolean {
  return (scopes[group]?.length ?? 0) > 0;
}

function wrong(field: string, message: string, value: unknown): InvalidField {
  return { resource: 'Authorization', field, code: 'invalid', message, value };
}
