import { EngineError } from '../../../base/errors.ts';
import type { Organization } from '../../identity/account.ts';
import { scopesOf, userOf, type Caller } from '../../identity/caller.ts';
import { hasScope } from '../../identity/tokens/scopes.ts';
import { hidden, signInFirst } from '../refusals.ts';
import type { SessionDeps } from '../session-deps.ts';

/**
 * The organization whose applications and tokens a caller asks for: a service token of it that has the access, an admin
 * of it at the pages or with a classic token, root. Throws unauthorized, not_found, forbidden.
 */
export function organizationFor(
  { accounts }: Pick<SessionDeps, 'accounts'>,
  caller: Caller,
  name: string,
  access: string,
): Organization {
  if (caller.kind === 'anonymous') {
    throw signInFirst();
  }
  if (caller.kind === 'root') {
    return accounts.organization(name);
  }
  const account = accounts.find(name);
  if (account?.kind !== 'organization') {
    throw hidden();
  }
  if (caller.kind === 'service') {
    if (caller.organization.id !== account.id) {
      throw hidden();
    }
    if (!caller.token.accesses.includes(access)) {
      throw new EngineError('forbidden', `This service token needs the access ${access}.`);
    }
    return account;
  }
  const user = userOf(caller);
  const role = user && accounts.roleIn(account, user);
  if (role === undefined) {
    throw hidden();
  }
  const scopes = scopesOf(caller) ?? [];
  const mayByToken = caller.kind === 'user' && hasScope(scopes, 'admin:org');
  if (role !== 'admin' || (caller.kind !== 'page' && !mayByToken)) {
    throw new EngineError(
      'forbidden',
      `Only an admin of ${account.name}, or a service token with the access ${access}, may do this.`,
    );
  }
  return account;
}
