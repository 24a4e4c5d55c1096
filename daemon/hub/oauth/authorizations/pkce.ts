import { createHash, timingSafeEqual } from 'node:crypto';

const CHALLENGE = /^[A-Za-z0-9_-]{43}$/;
const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/;

/** What is wrong with a request's PKCE (RFC 7636, 4.3); undefined = nothing. `plain` protects nothing. Pure. */
export function challengeProblem(
  challenge: string | undefined,
  method: string | undefined,
): string | undefined {
  if (challenge === undefined) {
    return method === undefined ? undefined : 'code_challenge_method goes with code_challenge';
  }
  if (method !== 'S256') {
    return `code_challenge_method must be S256, not ${method ?? 'plain'}`;
  }
  return CHALLENGE.test(challenge)
    ? undefined
    : 'code_challenge must be a SHA-256 in base64url: 43 characters, without =';
}

/**
 * Whether who exchanges a code has asked for it. A verifier for a code without a challenge is refused too: somebody may
 * have taken the challenge out of the request (RFC 9700, 4.8.2). Pure.
 */
export function isVerified(challenge: string | null, verifier: string | undefined): boolean {
  if (challenge === null || verifier === undefined) {
    return challenge === null && verifier === undefined;
  }
  const found = createHash('sha256').update(verifier).digest();
  const expected = Buffer.from(challenge, 'base64url');
  return VERIFIER.test(verifier) && expected.length === found.length && timingSafeEqual(found, expected);
}
