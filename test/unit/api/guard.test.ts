import { expect, test } from 'vitest';
import { refuseForeign } from '../../../api/pipeline/guard.ts';

const isOwnName = (name: string): boolean => name === 'build.example';

test.each([
  [{ host: 'localhost:2375' }, undefined],
  [{ host: '127.0.0.1:2375' }, undefined],
  [{ host: '[::1]:2375' }, undefined],
  [{ host: 'Build.Example' }, undefined],
  [{ host: 'localhost:2375', origin: 'http://localhost:2375' }, undefined],
  [{ host: 'localhost', 'sec-fetch-site': 'none' }, undefined],
  [{}, 'host "" is not one of this daemon\'s names'],
  [{ host: 'evil.example:2375' }, 'host "evil.example:2375" is not one of this daemon\'s names'],
  [{ host: 'localhost@evil' }, 'host "localhost@evil" is not one of this daemon\'s names'],
  [{ host: 'localhost', origin: 'http://evil.example' }, /from origin "http:\/\/evil\.example"/],
  [{ host: 'localhost', origin: 'null' }, /from origin "null"/],
  [{ host: 'localhost', origin: 'http://localhost:3000' }, /from origin/],
  [{ host: 'localhost', 'sec-fetch-site': 'cross-site' }, /Sec-Fetch-Site: cross-site/],
])('refuseForeign: %o', (headers, reason) => {
  const refusal = refuseForeign(headers, { isOwnName, allowedOrigin: '' });
  if (reason === undefined) {
    expect(refusal).toBeUndefined();
  } else {
    expect(refusal).toMatch(reason);
  }
});

test.each([
  ['*', 'http://any.example', true],
  ['http://panel.example', 'http://panel.example', true],
  ['http://panel.example', 'http://panel.example.evil.example', false],
  ['http://panel.example', 'null', false],
  ['', 'http://panel.example', false],
])('refuseForeign: with allowed origin "%s", pages of %s may ask: %s', (allowedOrigin, origin, may) => {
  const headers = { host: 'localhost', origin, 'sec-fetch-site': 'cross-site' };
  expect(refuseForeign(headers, { isOwnName, allowedOrigin }) === undefined).toBe(may);
  // A name of the attacker's that leads here is refused whatever the page.
  expect(refuseForeign({ ...headers, host: 'evil.example' }, { isOwnName, allowedOrigin })).toMatch(/host/);
});
