import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ifThere } from '../../../daemon/base/errors.ts';

const failing = (code: string) => (): never => {
  throw Object.assign(new Error(code), { code });
};

test('ifThere: what the step answers, undefined for what is not there', () => {
  expect([ifThere(() => 'text'), ifThere(() => readFileSync('/no/such/file'))]).toEqual(['text', undefined]);
  expect(ifThere(failing('ESRCH'), ['ENOENT', 'ESRCH'])).toBeUndefined();
});

test('ifThere: any other failure is thrown', () => {
  expect(() => ifThere(failing('EACCES'))).toThrow('EACCES');
  expect(() => ifThere(failing('ENOENT'), ['ESRCH'])).toThrow('ENOENT');
  expect(() =>
    ifThere(() => {
      throw new Error('no code');
    }),
  ).toThrow('no code');
});
