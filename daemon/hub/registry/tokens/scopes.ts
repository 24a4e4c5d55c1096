import { limits } from '../../../base/limits.ts';

/** What an access token grants of one thing (Docker's token specification). */
export interface ScopeAccess {
  type: string;
  name: string;
  actions: readonly string[];
}

export const ACTIONS = ['pull', 'push', 'delete'] as const;
export type RegistryAction = (typeof ACTIONS)[number];

/** `repository:alice/app:pull,push`; a name may hold colons, of a host's port. */
const SCOPE = /^([a-z]+)(?:\([a-z0-9]+\))?:(.+):([a-z*,]+)$/;

/** Reads the scopes of a request, several in one text too; what is none is left out, as specified. Pure. */
export function readScopes(texts: readonly string[]): ScopeAccess[] {
  return texts
    .flatMap((text) => text.split(' '))
    .slice(0, limits.hubScopesMax)
    .flatMap((text) => {
      const [, type = '', name = '', actions = ''] =
        SCOPE.exec(text.slice(0, 2 * limits.hubRegistryNameMax)) ?? [];
      return type === '' ? [] : [{ type, name, actions: spelled(type, actions.split(',')) }];
    });
}

/** What an engine asks for before it searches with what `docker login` left it. */
export const SEARCH = { type: 'registry', name: 'catalog', action: 'search' } as const;

/** `*` is everything that there is of a repository, or of the catalogue. */
function spelled(type: string, actions: readonly string[]): readonly string[] {
  const known: readonly string[] = type === 'repository' ? ACTIONS : ['*', SEARCH.action];
  return known.filter((action) => actions.includes(action) || actions.includes('*'));
}

export function hasAction(
  access: readonly ScopeAccess[],
  { type, name, action }: { type: string; name: string; action: string },
): boolean {
  return access.some((one) => one.type === type && one.name === name && one.actions.includes(action));
}

/** As OAuth 2 writes them. */
export function scopeText(access: readonly ScopeAccess[]): string {
  return access.map(({ type, name, actions }) => `${type}:${name}:${actions.join(',')}`).join(' ');
}
