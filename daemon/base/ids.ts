import { randomBytes } from 'node:crypto';

/** A fresh 64-digit hexadecimal id. Its first 12 are never all decimal: a short id must not read as a number. */
export function newId(): string {
  for (;;) {
    const id = randomBytes(32).toString('hex');
    if (/[a-f]/.test(id.slice(0, 12))) {
      return id;
    }
  }
}

/** The 12-digit form that clients show. */
export function shortId(id: string): string {
  return id.replace(/^sha256:/, '').slice(0, 12);
}

export const FULL_ID = /^[0-9a-f]{64}$/;
