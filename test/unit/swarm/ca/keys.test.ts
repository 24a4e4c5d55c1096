import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { isLocked, readKeyFile, writeKeyFile } from '../../../../swarm/ca/keys/key-file.ts';
import { formatUnlockKey, newUnlockKey, parseUnlockKey } from '../../../../swarm/ca/keys/unlock-key.ts';
import { Keyring, newDataKey } from '../../../../swarm/store/sealed.ts';
import { nodeOf, ROOT, WORKER } from '../../../support/swarm/authority.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';

const keyring = Keyring.generate().with([newDataKey(1)]);
const { keyPem } = nodeOf(ROOT, WORKER);
const KEY = newUnlockKey(new SeededRandom(1));

test('114: an unlock key is SWMKEY-1- and 32 bytes in base64 without padding', () => {
  expect(formatUnlockKey(KEY)).toMatch(/^SWMKEY-1-[A-Za-z0-9+/]{43}$/);
  expect(parseUnlockKey(formatUnlockKey(KEY))).toEqual(KEY);
});

test.each([
  '',
  'SWMKEY-1-',
  formatUnlockKey(KEY).slice(0, -1),
  `${formatUnlockKey(KEY)}=`,
  `${formatUnlockKey(KEY)}AAAA`,
  ` ${formatUnlockKey(KEY)}`,
  formatUnlockKey(KEY).replace('SWMKEY-1', 'SWMKEY-2'),
  `SWMKEY-1-${'!'.repeat(43)}`,
])('114: "%s" is no unlock key', (text) => {
  expect(() => parseUnlockKey(text)).toThrow(
    expect.objectContaining({ code: 'invalid_argument', message: 'invalid key string' }),
  );
});

test('114: a key file without autolock is the key in PEM, and the keyring beside it', () => {
  const text = writeKeyFile({ keyPem, keyring });
  expect(text.startsWith(keyPem)).toBe(true);
  expect([isLocked(text), readKeyFile(text)]).toEqual([false, { keyPem, keyring }]);
  expect(readKeyFile(writeKeyFile({ keyPem }))).toEqual({ keyPem });
  expect(() => readKeyFile('x')).toThrow('read the key file of this node: it holds no private key');
});

test('114: a locked key file shows nothing and refuses the wrong key; another lock takes its place', () => {
  const text = writeKeyFile({ keyPem, keyring }, KEY);
  const body = Buffer.from(text.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64');
  expect([isLocked(text), body.includes('[[1,'), readKeyFile(text, KEY)]).toEqual([
    true,
    false,
    { keyPem, keyring },
  ]);
  expect(() => readKeyFile(text)).toThrow(
    expect.objectContaining({
      code: 'unavailable',
      message:
        'Swarm is encrypted and needs to be unlocked before it can be used. ' +
        'Please use "docker swarm unlock" to unlock it.',
    }),
  );
  const other = randomBytes(32);
  expect(() => readKeyFile(text, other)).toThrow(
    expect.objectContaining({
      code: 'unauthorized',
      message: 'swarm could not be unlocked: invalid key provided',
    }),
  );
  const relocked = writeKeyFile(readKeyFile(text, KEY), other);
  expect(readKeyFile(relocked, other)).toEqual({ keyPem, keyring });
  expect(isLocked(writeKeyFile(readKeyFile(relocked, other)))).toBe(false);
});

test('114: the parts of a locked key file cannot be exchanged', () => {
  const text = writeKeyFile({ keyPem, keyring }, KEY);
  const exchanged = text
    .replaceAll('SEALED PRIVATE KEY', 'X')
    .replaceAll('SEALED BERTH KEYRING', 'SEALED PRIVATE KEY')
    .replaceAll('-----BEGIN X-----', '-----BEGIN SEALED BERTH KEYRING-----')
    .replaceAll('-----END X-----', '-----END SEALED BERTH KEYRING-----');
  expect(() => readKeyFile(exchanged, KEY)).toThrow('swarm could not be unlocked: invalid key provided');
});
