import { EngineError, notFound, unreachable } from '../../base/errors.ts';
import type { User } from '../identity/account.ts';
import { nameOf, userOf, type Caller } from '../identity/caller.ts';
import { scopesWith, type Right } from '../oauth/scopes/names.ts';
import type { Need, Verdict } from '../repositories/access.ts';

/** GitHub's word for whatever a caller may not know of. */
export const hidden = (): EngineError => notFound('Not Found');

/** What a caller is told whose request was judged. Undefined = it may go on. */
export function refusalOf(caller: Caller, verdict: Verdict, need: Need): EngineError | undefined {
  switch (verdict.kind) {
    case 'granted':
      return undefined;
    case 'hidden':
      return hidden();
    case 'refused':
      return caller.kind === 'anonymous' ? signInFirst() : lacking(caller, verdict.lacking, need);
    default:
      return unreachable(verdict);
  }
}

export function signInFirst(): EngineError {
  return new EngineError('unauthorized', 'Requires authentication');
}

/** With the address of the page at which its user authorizes the token. */
export function signOnFirst(address: string): EngineError {
  return new EngineError(
    'forbidden',
    'Resource protected by organization SAML enforcement. ' +
      'You must grant your Personal Access token access to this organization.',
    { details: { signOn: `required; url=${address}` } },
  );
}

/** The person behind a request. Throws unauthorized; forbidden for whoever is none. */
export function personOf(caller: Caller): User {
  if (caller.kind === 'anonymous') {
    throw signInFirst();
  }
  if (caller.kind === 'root') {
    throw new EngineError('forbidden', 'root has no account in the hub: use a token of a user');
  }
  const user = userOf(caller);
  if (user === undefined) {
    throw new EngineError('forbidden', NOT_BY_INTEGRATION);
  }
  return user;
}

/** Throws not_found for everybody but root: what administers the hub is not there for others. */
export function rootOnly(caller: Caller): void {
  if (caller.kind !== 'root') {
    throw hidden();
  }
}

const NOT_BY_INTEGRATION = 'Resource not accessible by integration';

function lacking(caller: Caller, what: Lacking, need: Need): EngineError {
  switch (what) {
    case 'scope':
      return new EngineError('forbidden', `This token needs the scope ${need.scopes.join(' or ')}.`, {
        details: { acceptedScopes: need.scopes },
      });
    case 'right':
      return lacksAccess(need.right);
    case 'permission':
      return new EngineError('forbidden', notAccessible(caller), {
        details: { acceptedPermissions: `${need.permission}=${need.level}` },
      });
    case 'role':
    case 'sign-on':
      return userOf(caller) === undefined
        ? new EngineError('forbidden', NOT_BY_INTEGRATION)
        : new EngineError(
            'forbidden',
            `Must have ${need.role} rights to Repository: ${nameOf(caller)} has not.`,
          );
    default:
      return unreachable(what);
  }
}

/** Of tokens of organizations' OAuth applications and service tokens. */
export function lacksAccess(right: Right): EngineError {
  return new EngineError('forbidden', `This token needs the access ${scopesWith(right).join(' or ')} here.`);
}

/** GitHub's words for credentials that lack a permission. */
export function notAccessible(caller: Caller): string {
  const isPersonal = caller.kind === 'user' && caller.token.kind === 'fine-grained';
  return isPersonal ? 'Resource not accessible by personal access token' : NOT_BY_INTEGRATION;
}

type Lacking = Extract<Verdict, { kind: 'refused' }>['lacking'];
