import { EngineError, notFound, unreachable } from '../../base/errors.ts';
import type { User } from '../identity/account.ts';
import type { Caller } from '../identity/caller.ts';
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

/** The person behind a request. Throws unauthorized; forbidden for root, who is no person. */
export function personOf(caller: Caller): User {
  switch (caller.kind) {
    case 'anonymous':
      throw signInFirst();
    case 'root':
      throw new EngineError('forbidden', 'root has no account in the hub: use a token of a user');
    case 'user':
      return caller.user;
    default:
      return unreachable(caller);
  }
}

/** Throws not_found for everybody but root: what administers the hub is not there for others. */
export function rootOnly(caller: Caller): void {
  if (caller.kind !== 'root') {
    throw hidden();
  }
}

function lacking(caller: Caller, what: 'role' | 'permission' | 'scope', need: Need): EngineError {
  if (what === 'scope') {
    return new EngineError('forbidden', `This token needs the scope ${need.scopes.join(' or ')}.`, {
      details: { acceptedScopes: need.scopes },
    });
  }
  if (what === 'permission') {
    return new EngineError('forbidden', 'Resource not accessible by personal access token', {
      details: { acceptedPermissions: `${need.permission}=${need.level}` },
    });
  }
  const name = caller.kind === 'user' ? caller.user.name : caller.kind;
  return new EngineError('forbidden', `Must have ${need.role} rights to Repository: ${name} has not.`);
}
