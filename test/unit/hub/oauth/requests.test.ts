import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import type { OAuthApplication } from '../../../../daemon/hub/oauth/applications/application.ts';
import { readAvatar } from '../../../../daemon/hub/oauth/applications/avatar.ts';
import { addressProblems } from '../../../../daemon/hub/oauth/applications/problems.ts';
import { challengeProblem, isVerified } from '../../../../daemon/hub/oauth/authorizations/pkce.ts';
import { backTo, judgeAuthorize } from '../../../../daemon/hub/oauth/requests/authorize-request.ts';
import { clientCredentialsOf } from '../../../../daemon/hub/oauth/requests/client-credentials.ts';

const REDIRECT = 'https://ci.example/back?x=1';

const APPLICATION: OAuthApplication = {
  id: 'a'.repeat(12),
  clientId: 'Oc1',
  name: 'CI',
  domain: 'https://ci.example',
  redirectUri: REDIRECT,
  avatar: null,
  privacyUrl: null,
  termsUrl: null,
  scopes: { user: ['read_user'] },
  organization: { name: 'acme', id: 4 },
  secretHash: '',
  createdMs: 0,
  updatedMs: 0,
};

function judged(query: string) {
  return judgeAuthorize(new URLSearchParams(query), (id) => (id === 'Oc1' ? APPLICATION : undefined));
}

const TO = `client_id=Oc1&redirect_uri=${encodeURIComponent(REDIRECT)}`;
const CHALLENGE = createHash('sha256').update('v'.repeat(43)).digest('base64url');

test.each([
  ['', 'refused', /client_id is missing/],
  ['client_id=Oc2', 'refused', /unknown/],
  ['client_id=Oc1&client_id=Oc1', 'refused', /once/],
  ['client_id=Oc1&redirect_uri=https://ci.example/back', 'refused', /not the one/],
  ['client_id=Oc1&redirect_uri=https://ci.example/back?x=1%26y', 'refused', /not the one/],
  ['client_id=Oc1&redirect_uri=https://evil.example/back?x=1', 'refused', /not the one/],
  ['client_id=Oc1&redirect_uri=https://ci.example.evil.example/back?x=1', 'refused', /not the one/],
  ['client_id=Oc1&redirect_uri=HTTPS://CI.EXAMPLE/back?x=1', 'refused', /not the one/],
  [`${TO}&redirect_uri=https://evil.example`, 'refused', /once/],
  [`${TO}&response_type=token`, 'unsupported_response_type', /code/],
  [`${TO}&response_mode=fragment`, 'invalid_request', /query/],
  [`${TO}&state=1&state=2`, 'invalid_request', /state was sent twice/],
  [`${TO}&state=${'x'.repeat(2049)}`, 'invalid_request', /2048/],
  [`${TO}&scope=write_branches`, 'invalid_scope', /not registered/],
  [`${TO}&code_challenge=${CHALLENGE}`, 'invalid_request', /S256, not plain/],
  [`${TO}&code_challenge=${CHALLENGE}&code_challenge_method=plain`, 'invalid_request', /S256, not plain/],
  [`${TO}&code_challenge=abc&code_challenge_method=S256`, 'invalid_request', /43/],
  [`${TO}&code_challenge_method=S256`, 'invalid_request', /goes with/],
])('authorize with %s: %s', (query, error, message) => {
  const verdict = judged(query);
  const found =
    verdict.kind === 'refused'
      ? ['refused', verdict.message]
      : verdict.kind === 'error'
        ? [verdict.error, verdict.description]
        : [];
  expect(found).toEqual([error, expect.stringMatching(message)]);
});

test.each([
  ['client_id=Oc1', { isRedirectNamed: false, state: undefined, challenge: null }],
  [`${TO}&state=%20s`, { isRedirectNamed: true, state: ' s', challenge: null }],
  [`${TO}&response_type=code&scope=read_user`, { scopes: { user: ['read_user'] } }],
  [`${TO}&code_challenge=${CHALLENGE}&code_challenge_method=S256`, { challenge: CHALLENGE }],
  [`${TO}&nonce=1&prompt=consent`, { redirectUri: REDIRECT }],
])('authorize with %s is asked', (query, expected) => {
  expect(judged(query)).toMatchObject({ kind: 'right', request: expected });
});

test('the way back keeps the query that is registered, and says who answers', () => {
  expect(backTo(REDIRECT, 'https://hub.example', { code: 'c&d', state: 'a=b', error: undefined })).toBe(
    'https://ci.example/back?x=1&code=c%26d&state=a%3Db&iss=https%3A%2F%2Fhub.example',
  );
});

test.each([
  [CHALLENGE, 'v'.repeat(43), true],
  [CHALLENGE, 'w'.repeat(43), false],
  [CHALLENGE, undefined, false],
  [createHash('sha256').update('short').digest('base64url'), 'short', false],
  [null, undefined, true],
  [null, 'v'.repeat(43), false],
])('challenge %j with verifier %j: %s', (challenge, verifier, expected) => {
  expect(isVerified(challenge, verifier)).toBe(expected);
});

test('no challenge is right too', () => {
  expect(challengeProblem(undefined, undefined)).toBeUndefined();
});

const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`;

test.each([
  [undefined, {}, undefined],
  [undefined, { client_id: 'a', client_secret: 'b' }, { clientId: 'a', secret: 'b' }],
  [undefined, { client_id: 'a' }, undefined],
  [basic('a:b'), {}, { clientId: 'a', secret: 'b' }],
  [basic('Oc1%2E2:bhc%5Fx%2D1'), {}, { clientId: 'Oc1.2', secret: 'bhc_x-1' }],
  [basic('a:b'), { client_id: 'a' }, { clientId: 'a', secret: 'b' }],
  [basic('a:b'), { client_id: 'c' }, 'twice'],
  [basic('a:b'), { client_id: 'a', client_secret: 'b' }, 'twice'],
  ['Bearer x', { client_id: 'a', client_secret: 'b' }, { clientId: 'a', secret: 'b' }],
])('a client shows %j and %j', (header, sent, expected) => {
  expect(clientCredentialsOf(header, sent)).toEqual(expected);
});

const RIGHT = {
  name: 'CI',
  domain: 'https://ci.example',
  redirectUri: 'https://ci.example/back',
  privacyUrl: null,
  termsUrl: null,
};

test.each([
  [{}, []],
  [{ name: ' ' }, ['name']],
  [{ redirectUri: 'https://other.example/back' }, ['redirect_uri']],
  [{ redirectUri: 'https://ci.example.evil/back' }, ['redirect_uri']],
  [{ redirectUri: 'https://ci.example:8443/back' }, []],
  [{ redirectUri: 'http://ci.example/back' }, ['redirect_uri']],
  [{ redirectUri: 'https://ci.example/back#x' }, ['redirect_uri']],
  [{ redirectUri: 'https://ci.example@evil.example/' }, ['redirect_uri']],
  [{ redirectUri: 'https://evil.example\\@ci.example/' }, ['redirect_uri']],
  [{ redirectUri: 'javascript:alert(1)' }, ['redirect_uri']],
  [{ domain: 'http://127.0.0.1:1', redirectUri: 'http://127.0.0.1:9/back' }, []],
  [{ domain: 'ci.example' }, ['domain']],
  [{ domain: 'http://ci.example', redirectUri: 'http://ci.example/back' }, ['domain', 'redirect_uri']],
  [{ privacyUrl: 'javascript:1', termsUrl: 'http://ci.example/terms' }, ['privacy_url']],
])('an application with %j: wrong are %j', (change, fields) => {
  const problems = addressProblems({ ...RIGHT, ...change }, false);
  expect(problems.flatMap((problem) => problem?.field ?? [])).toEqual(fields);
});

test('a hub with plain HTTP takes applications with plain HTTP', () => {
  const plain = { ...RIGHT, domain: 'http://ci.example', redirectUri: 'http://ci.example/back' };
  expect(addressProblems(plain, true)).toEqual([undefined, undefined, undefined, undefined, undefined]);
});

test.each([
  [Buffer.from('\u0089PNG\r\n\u001a\n...', 'latin1'), 'image/png'],
  [Buffer.from('GIF89a...'), 'image/gif'],
  [Buffer.from('<svg onload="alert(1)"/>'), undefined],
  [Buffer.alloc(70_000, 'GIF89a'), undefined],
])('an avatar is what its bytes are', (bytes, mediaType) => {
  const read = readAvatar(`data:image/png;base64,${bytes.toString('base64')}`);
  expect('avatar' in read ? read.avatar.mediaType : undefined).toBe(mediaType);
});
