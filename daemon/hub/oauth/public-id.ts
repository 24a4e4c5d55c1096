import { randomInt } from 'node:crypto';

const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789';
const LENGTH = 12;

/** What applications, authorizations and tokens are known by: twelve characters at random (seed 002 A). No secret. */
export function newPublicId(): string {
  return Array.from({ length: LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join('');
}

export function isPublicId(text: string): boolean {
  return /^[a-z0-9]{12}$/.test(text);
}
