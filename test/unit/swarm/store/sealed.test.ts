import { expect, test } from 'vitest';
import { InvariantError } from '../../../../daemon/base/errors.ts';
import { Keyring, newDataKey } from '../../../../swarm/store/sealed.ts';

const value = Buffer.from('the secret of a service');

test('sealed: what was sealed opens under its own name alone', () => {
  const keyring = Keyring.generate();
  const sealed = keyring.seal('secret/a/data', value);
  expect(keyring.open('secret/a/data', sealed)).toEqual(value);
  expect(sealed.includes(value)).toBe(false);
  expect(() => keyring.open('secret/b/data', sealed)).toThrow('open secret/b/data: it was changed');
  expect(keyring.seal('secret/a/data', value)).not.toEqual(sealed);
});

test('sealed: any byte that was changed is noticed', () => {
  const keyring = Keyring.generate();
  const sealed = keyring.seal('a', value);
  for (let index = 0; index < sealed.length; index += 1) {
    const changed = Buffer.from(sealed);
    changed[index] = (changed[index] ?? 0) ^ 1;
    expect(() => keyring.open('a', changed)).toThrow(
      /open a: (it was changed|it is not sealed|this manager)/,
    );
  }
  for (const cut of [Buffer.alloc(0), sealed.subarray(0, 32), sealed.subarray(0, -1), Buffer.from('{}')]) {
    expect(() => keyring.open('a', cut)).toThrow(/open a: it/);
  }
});

test('sealed: another key of the same number opens nothing', () => {
  const sealed = Keyring.generate().seal('a', value);
  expect(() => Keyring.generate().open('a', sealed)).toThrow('it was changed');
});

test('sealed: after a rotation the old opens, is resealed once, and then needs its key no more', () => {
  const first = Keyring.generate();
  const key = newDataKey(first.newest);
  const second = first.with([key]);
  const old = first.seal('a', value);
  expect(second.open('a', old)).toEqual(value);
  const resealed = second.resealed('a', old);
  expect(resealed && second.resealed('a', resealed)).toBeUndefined();
  expect(resealed && second.from(key.id).open('a', resealed)).toEqual(value);
  expect(() => second.from(key.id).open('a', old)).toThrow('this manager does not have data key 1');
  expect(() => first.open('a', resealed ?? old)).toThrow(`this manager does not have data key ${key.id}`);
  expect(second.keys.map(({ id }) => id)).toEqual([key.id, 1]);
  expect([second.oldest, second.newest, second.from(key.id).oldest]).toEqual([1, key.id, key.id]);
  // The own one counts, and one stays.
  expect(second.with([{ id: 1, secret: Buffer.alloc(32) }])).toBe(second);
  expect(first.from(key.id)).toBe(first);
});

test('sealed: a keyring is not empty, and its keys have their size', () => {
  const secret = Buffer.alloc(32);
  expect(() => new Keyring([])).toThrow(InvariantError);
  expect(() => new Keyring([{ id: 0, secret }])).toThrow(InvariantError);
  expect(() => new Keyring([{ id: 2 ** 32, secret }])).toThrow(InvariantError);
  expect(() => new Keyring([{ id: 1, secret: secret.subarray(1) }])).toThrow(InvariantError);
});
