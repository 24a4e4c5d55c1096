import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { checkRootDigest, newJoinToken, parseJoinToken, roleOfToken } from '../../../../swarm/ca/tokens.ts';
import { createRoot } from '../../../../swarm/ca/x509/issue.ts';
import { normalisedCertificates } from '../../../../swarm/ca/x509/pem.ts';
import { NOW, ROOT } from '../../../support/swarm/authority.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';

const ROOT_PEM = ROOT.certificate.pem;
const DIGEST = createHash('sha256').update(ROOT_PEM).digest('hex');
const TOKEN = newJoinToken(ROOT_PEM, new SeededRandom(1));

test('106: a token holds the digest of the root and a secret, padded to one length', () => {
  expect(TOKEN).toMatch(/^SWMTKN-1-[0-9a-z]{50}-[0-9a-z]{25}$/);
  const secret = TOKEN.slice(-25);
  expect(parseJoinToken(TOKEN)).toEqual({ digest: DIGEST, secret, fips: false });
  const zeros = newJoinToken(ROOT_PEM, { bytes: (count) => new Uint8Array(count) });
  expect(parseJoinToken(zeros).secret).toBe('0'.repeat(25));
  const ones = newJoinToken(ROOT_PEM, { bytes: (count) => new Uint8Array(count).fill(255) });
  expect(parseJoinToken(ones).secret).toBe('f5lxx1zz5pnorynqglhzmsp33');
});

const [, , digits = '', secret = ''] = TOKEN.split('-');

test.each([
  [`SWMTKN-2-0-${digits}-${secret}`, false],
  [`SWMTKN-2-1-${digits}-${secret}`, true],
])('106: %s is of version 2, FIPS: %s', (text, fips) => {
  expect(parseJoinToken(text)).toEqual({ digest: DIGEST, secret, fips });
});

test.each([
  '',
  'SWMTKN',
  `SWMTKN-1-${digits}`,
  `SWMTKN-1-${digits}-${secret}-x`,
  `SWMTKN-1-${digits.slice(1)}-${secret}`,
  `SWMTKN-1-${digits}-${secret}0`,
  `SWMTKN-1-0-${digits}-${secret}`,
  `SWMTKN-2-${digits}-${secret}`,
  `SWMTKN-2-2-${digits}-${secret}`,
  `SWMTKN-3-${digits}-${secret}`,
  `swmtkn-1-${digits}-${secret}`,
  `SWMTKN-1-${digits.toUpperCase()}-${secret.toUpperCase()}`,
  `SWMTKN-1-${'_'.repeat(50)}-${secret}`,
  `SWMTKN-1-${'z'.repeat(50)}-${secret}`,
  `${TOKEN}\n`,
])('106: "%s" is no token', (text) => {
  expect(() => parseJoinToken(text)).toThrow(
    expect.objectContaining({ code: 'invalid_argument', message: 'invalid join token' }),
  );
});

test('106: whoever stands between shows another root, and is found out by the digest', () => {
  const token = parseJoinToken(TOKEN);
  const crlf = ROOT_PEM.replaceAll('\n', '\r\n');
  expect(() => checkRootDigest(token, normalisedCertificates(`text before\n${crlf}`))).not.toThrow();
  expect(() => checkRootDigest(token, createRoot(NOW).certificate.pem)).toThrow(
    `remote CA does not match fingerprint. Expected: ${DIGEST}`,
  );
  expect(() => checkRootDigest(token, ROOT_PEM + createRoot(NOW).certificate.pem)).toThrow(
    /does not match fingerprint/,
  );
});

test('107: the role is that of the token that matches; after a rotation the old one gives none', () => {
  const random = new SeededRandom(2);
  const tokens = { worker: newJoinToken(ROOT_PEM, random), manager: newJoinToken(ROOT_PEM, random) };
  expect([tokens.worker, tokens.manager, '', TOKEN].map((text) => roleOfToken(text, tokens))).toEqual([
    'swarm-worker',
    'swarm-manager',
    undefined,
    undefined,
  ]);
  const rotated = { ...tokens, worker: newJoinToken(ROOT_PEM, random) };
  expect([tokens.worker, rotated.worker, tokens.manager].map((text) => roleOfToken(text, rotated))).toEqual([
    undefined,
    'swarm-worker',
    'swarm-manager',
  ]);
});
