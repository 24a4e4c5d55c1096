import { hashSecret, newSecret } from '../../identity/tokens/secret.ts';
import { isPublicId } from '../public-id.ts';

/** A code or a refresh token: a secret, and behind a dot the authorization that it is of. */
export interface ShownSecret {
  authorization: string;
  hash: string;
}

/** `bhd_....<authorization>` of a code, `bhr_...` of a refresh token. */
export function newShownSecret(
  kind: 'code' | 'refresh',
  authorization: string,
): { text: string; hash: string } {
  const text = `${newSecret(kind)}.${authorization}`;
  return { text, hash: hashSecret(text) };
}

/** Undefined = it is none. */
export function readShownSecret(text: string): ShownSecret | undefined {
  const authorization = text.slice(text.lastIndexOf('.') + 1);
  return isPublicId(authorization) ? { authorization, hash: hashSecret(text) } : undefined;
}
