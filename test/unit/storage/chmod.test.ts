import { expect, test } from 'vitest';
import { parseChmod } from '../../../storage/files/chmod.ts';

test.each([
  ['755', 0o644, 0o755],
  ['04755', 0o644, 0o4755],
  ['u+x', 0o644, 0o744],
  ['a-w', 0o666, 0o444],
  ['go=', 0o777, 0o700],
  ['u=rw,go=r', 0o777, 0o644],
  ['+x', 0o640, 0o751],
  ['u+s', 0o755, 0o4755],
  ['g=u', 0o740, 0o770],
  ['+t', 0o777, 0o1777],
  ['a+X', 0o644, 0o644],
  ['a+X', 0o744, 0o755],
] as const)('%s of a file', (text, before, after) => {
  expect(parseChmod(text)(before, false).toString(8)).toBe(after.toString(8));
});

test('X is for directories, whatever they were', () => {
  expect(parseChmod('a+X')(0o600, true)).toBe(0o711);
});

test.each(['', 'x', '8', 'u+y', '123456', 'u', 'u+x,'])('%j is no mode', (text) => {
  expect(() => parseChmod(text)).toThrow(`invalid chmod parameter: ${text}`);
});
