import { expect, test } from 'vitest';
import { refuseForeign } from '../../../api/pipeline/guard.ts';

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
  const refusal = refuseForeign(headers, (name) => name === 'build.example');
  if (reason === undefined) {
    expect(refusal).toBeUndefined();
  } else {
    expect(refusal).toMatch(reason);
  }
});
