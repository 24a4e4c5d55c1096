import { createHash, timingSafeEqual } from 'node:crypto';
import { invalidArgument } from '../../daemon/base/errors.ts';
import type { Random } from '../objects/random.ts';
import type { Role } from './identity.ts';

/** A join token: which root to trust, and a secret that says as what to join. */
export interface JoinToken {
  /** SHA-256 of the root certificates (PEM) in hexadecimal: a joining node checks what it is shown against it. */
  digest: string;
  secret: string;
  /** Version 2 alone: all nodes have to be in FIPS mode. */
  fips: boolean;
}

const BASE = 36;
const DIGEST_LENGTH = 50;
const SECRET_LENGTH = 25;
const SECRET_BYTES = 16;
const TOKEN = /^SWMTKN-(?:1|2-([01]))-([0-9a-z]{50})-([0-9a-z]{25})$/;

/** A token with a fresh secret for the swarm with these root certificates (PEM, normalised). */
export function newJoinToken(rootPem: string, random: Random): string {
  const digest = inBase36(digestOf(rootPem), DIGEST_LENGTH);
  return `SWMTKN-1-${digest}-${inBase36(hex(random.bytes(SECRET_BYTES)), SECRET_LENGTH)}`;
}

/** Throws invalid_argument `invalid join token`. */
export function parseJoinToken(text: string): JoinToken {
  const [, fips, digits = '', secret = ''] = TOKEN.exec(text) ?? [];
  const digest = Array.from(digits).reduce(
    (value, digit) => value * BigInt(BASE) + BigInt(Number.parseInt(digit, BASE)),
    0n,
  );
  if (digits === '' || digest >= 1n << 256n) {
    throw invalidArgument('invalid join token');
  }
  return { digest: digest.toString(16).padStart(64, '0'), secret, fips: fips === '1' };
}

/**
 * Throws invalid_argument, as a joining node prints it, where the root certificates that a manager shows are not those
 * of the token: another swarm, or a server in between.
 */
export function checkRootDigest(token: JoinToken, rootPem: string): void {
  if (digestOf(rootPem) !== token.digest) {
    throw invalidArgument(`remote CA does not match fingerprint. Expected: ${token.digest}`);
  }
}

/** The role that a token gives; undefined for one that is not, or no longer, the swarm's. In constant time. */
export function roleOfToken(given: string, tokens: { worker: string; manager: string }): Role | undefined {
  // Both are compared, so that the time tells nothing.
  const isManager = isSame(given, tokens.manager);
  const isWorker = isSame(given, tokens.worker);
  if (isManager) {
    return 'swarm-manager';
  }
  return isWorker ? 'swarm-worker' : undefined;
}

function isSame(a: string, b: string): boolean {
  const [left, right] = [a, b].map((text) => createHash('sha256').update(text).digest());
  return left !== undefined && right !== undefined && timingSafeEqual(left, right);
}

function digestOf(rootPem: string): string {
  return createHash('sha256').update(rootPem).digest('hex');
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

function inBase36(hexadecimal: string, length: number): string {
  return BigInt(`0x${hexadecimal}`).toString(BASE).padStart(length, '0');
}
