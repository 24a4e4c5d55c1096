import { expect, test } from 'vitest';
import { splitVersion } from '../../../../api/versions/version.ts';

test.each([
  ['/info', { version: 55, path: '/info' }],
  ['/v1.24/info', { version: 24, path: '/info' }],
  ['/v1.44/images/a/v1.24/json', { version: 44, path: '/images/a/v1.24/json' }],
  ['/v1.24.1/info', { version: 24, path: '/info' }],
  // Clients that know no other (skopeo 1.9).
  ['/v1.23/info', { version: 24, path: '/info' }],
  ['/v1.22/info', { version: 24, path: '/info' }],
  ['/volumes', { version: 55, path: '/volumes' }],
  ['/version', { version: 55, path: '/version' }],
  ['/v1.24', { version: 55, path: '/v1.24' }],
  ['/', { version: 55, path: '/' }],
])('splitVersion: %s', (path, split) => {
  expect(splitVersion(path)).toEqual(split);
});

test.each([
  ['/v1.56/info', 'client version 1.56 is too new. Maximum supported API version is 1.55'],
  ['/v2.0/info', 'client version 2.0 is too new. Maximum supported API version is 1.55'],
  [
    '/v1.21/info',
    'client version 1.21 is too old. Minimum supported API version is 1.24, ' +
      'please upgrade your client to a newer version',
  ],
  [
    '/v1/info',
    'client version 1 is too old. Minimum supported API version is 1.24, ' +
      'please upgrade your client to a newer version',
  ],
])('splitVersion: refuses %s in the words clients print', (path, message) => {
  expect(() => splitVersion(path)).toThrow(message);
});
