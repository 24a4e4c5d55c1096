import type { InvalidField } from '../../base/invalid-fields.ts';
import { limits } from '../../base/limits.ts';

/** Letters and digits, with single hyphens between them: GitHub's rule, and each name is part of a registry's names. */
const ACCOUNT_NAME = /^[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*$/;

/** One at sign with something around it: whether mail arrives only its sending shows. */
const EMAIL = /^[^\s@]+@[^\s@]+$/;

/** Names of accounts do not differ by case. */
export function nameKey(name: string): string {
  return name.toLowerCase();
}

/** What is wrong with the name of a new account; undefined = nothing. */
export function accountNameProblem(resource: string, name: string): InvalidField | undefined {
  const isRight = ACCOUNT_NAME.test(name) && name.length <= limits.hubAccountNameMax;
  return isRight
    ? undefined
    : {
        resource,
        field: 'login',
        code: 'invalid',
        message: `must be letters, digits and single hyphens between them, at most ${limits.hubAccountNameMax}`,
        value: name,
      };
}

export function emailProblem(email: string | null): InvalidField | undefined {
  const isRight = email === null || (EMAIL.test(email) && email.length <= limits.hubEmailMax);
  return isRight
    ? undefined
    : { resource: 'User', field: 'email', code: 'invalid', message: 'must be an address', value: email };
}
