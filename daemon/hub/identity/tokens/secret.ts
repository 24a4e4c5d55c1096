import { createHash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Token } from './token.ts';

/** So that a token is recognised where it should not be: in a log, a repository, a search for leaked secrets. */
const PREFIXES = {
  classic: 'bhp_',
  'fine-grained': 'bhf_',
  oauth: 'bho_',
  'app-user': 'bhu_',
  installation: 'bhi_',
  workflow: 'bhw_',
  service: 'bhk_',
  grant: 'bhg_',
  client: 'bhc_',
  code: 'bhd_',
  refresh: 'bhr_',
  session: 'bhs_',
} as const satisfies Record<Token['kind'] | 'client' | 'code' | 'refresh' | 'session', string>;

const BYTES = 32;

/** A new secret: 256 random bits and a checksum of them. It is shown once; its hash is stored. */
export function newSecret(kind: keyof typeof PREFIXES): string {
  const random = randomBytes(BYTES);
  return PREFIXES[kind] + random.toString('base64url') + checksum(random);
}

/** What is stored of a token: SHA-256 in hexadecimal. Nothing slower is needed against 256 random bits. */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

function checksum(bytes: Buffer): string {
  return crc32(bytes).toString(36).padStart(7, '0');
}
