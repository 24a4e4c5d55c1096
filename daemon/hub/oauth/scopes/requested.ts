import type { InvalidField } from '../../../base/invalid-fields.ts';
import { oauthProblem } from '../requests/problem.ts';
import type { Access } from './access.ts';
import { canonicalScope, GROUPS, SCOPE_NAMES, scopeFacts, type Group, type ScopesByGroup } from './names.ts';

/** The scopes of a new application, each once, in the seed's words. Answers what is wrong with them instead. Pure. */
export function readScopes(given: Readonly<Record<string, readonly string[]>>): {
  scopes: ScopesByGroup;
  problems: InvalidField[];
} {
  const scopes: Partial<Record<Group, readonly string[]>> = {};
  const problems: InvalidField[] = [];
  for (const [name, names] of Object.entries(given)) {
    const group = GROUPS.find((one) => one === name);
    if (group === undefined) {
      problems.push(wrong(`scopes.${name}`, `must be of ${GROUPS.join(', ')}`, name));
      continue;
    }
    const canonical = [...new Set(names.map((one) => canonicalScope(group, one)))];
    scopes[group] = canonical;
    const unknown = canonical.filter((one) => scopeFacts(group, one) === undefined);
    problems.push(
      ...unknown.map((one) => wrong(`scopes.${group}`, `must be of ${SCOPE_NAMES[group].join(', ')}`, one)),
    );
  }
  if (problems.length === 0 && Object.values(scopes).every((names) => names.length === 0)) {
    problems.push(wrong('scopes', 'must name one at least: the application could do nothing', ''));
  }
  return { scopes, problems };
}

/**
 * Those of an application's scopes that a request names (`scope`: `write_branches`, or `database:write_branches` for
 * one group alone); all of them where it names none. Undefined = it names one that the application does not have. Pure.
 */
export function narrowed(registered: ScopesByGroup, scope: string | undefined): ScopesByGroup | undefined {
  const asked = (scope ?? '').split(' ').filter((one) => one !== '');
  if (asked.length === 0) {
    return registered;
  }
  const found = asked.map((one) => ofGroups(registered, one));
  if (found.some((one) => one.length === 0)) {
    return undefined;
  }
  const pairs = found.flat();
  return Object.fromEntries(
    GROUPS.flatMap((group) => {
      const names = new Set(pairs.filter((pair) => pair.group === group).map(({ name }) => name));
      return names.size === 0 ? [] : [[group, [...names]]];
    }),
  );
}

function ofGroups(registered: ScopesByGroup, asked: string): { group: Group; name: string }[] {
  const [, prefix, rest = ''] = /^(?:([a-z]+):)?(.+)$/.exec(asked) ?? [];
  return GROUPS.filter((group) => prefix === undefined || prefix === group).flatMap((group) => {
    const name = canonicalScope(group, rest);
    return registered[group]?.includes(name) === true ? [{ group, name }] : [];
  });
}

/** As OAuth 2 writes them: `user:read_user database:write_branches`. */
export function scopeText(
  accesses: readonly { resource: { group: Group }; scopes: readonly string[] }[],
): string {
  return [
    ...new Set(accesses.flatMap(({ resource, scopes }) => scopes.map((name) => `${resource.group}:${name}`))),
  ].join(' ');
}

function wrong(field: string, message: string, value: string): InvalidField {
  return { resource: 'OAuthApplication', field, code: 'invalid', message, value };
}

/** As much of what was granted as a refresh names (RFC 6749, 6); all of it by default. Throws invalid_scope. */
export function narrowedAccesses(accesses: readonly Access[], scope: string | undefined): readonly Access[] {
  const granted = Object.fromEntries(
    GROUPS.map((group) => [
      group,
      accesses.flatMap(({ resource, scopes }) => (resource.group === group ? scopes : [])),
    ]),
  );
  const wanted = narrowed(granted, scope);
  if (wanted === undefined) {
    throw oauthProblem('invalid_scope', 'scope goes beyond what was granted');
  }
  return accesses
    .map(({ resource, scopes }) => ({
      resource,
      scopes: scopes.filter((name) => wanted[resource.group]?.includes(name) === true),
    }))
    .filter(({ scopes }) => scopes.length > 0);
}
