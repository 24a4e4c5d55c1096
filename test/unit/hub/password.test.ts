import { expect, test } from 'vitest';
import { hashPassword, isPassword } from '../../../daemon/hub/identity/password.ts';

test('a password is known by its hash, and no other is', async () => {
  const stored = await hashPassword('correct horse');
  expect(stored).toMatch(/^scrypt\$32768\$8\$1\$/);
  expect(stored).not.toContain('horse');
  expect(await isPassword('correct horse', stored)).toBe(true);
  expect(await isPassword('correct hors', stored)).toBe(false);
  expect(await hashPassword('correct horse')).not.toBe(stored);
});

test('who has no password has none that is right', async () => {
  expect(await isPassword('', null)).toBe(false);
  expect(await isPassword('', 'scrypt$32768$8$1$$')).toBe(false);
});
