import { expect, test } from 'vitest';
import { refuseOtherPlatform, wantedPlatform } from '../../../../daemon/containers/request/platform.ts';

const refuse = (platform: string | undefined): void =>
  refuseOtherPlatform(IMAGE, 'busybox', platform, wantedPlatform(platform));

const IMAGE = { id: 'x', layerIds: [], config: {}, os: 'linux', architecture: 'amd64' };

test.each([undefined, '', 'linux', 'amd64', 'linux/amd64', 'LINUX/x86_64', 'linux/amd64/v2', 'x86_64'])(
  'platform: %s is that of the image',
  (platform) => {
    expect(() => refuse(platform)).not.toThrow();
  },
);

const other = (platform: string): [string, string, string] => [
  platform,
  'not_found',
  'image with reference busybox was found but does not match the specified platform: ' +
    `wanted ${platform}, actual: linux/amd64`,
];

test.each([
  other('linux/arm64'),
  other('aarch64'),
  other('windows'),
  other('windows/amd64'),
  other('linux/constructor'),
  ['a/b/c/d', 'invalid_argument', 'platform "a/b/c/d": cannot parse platform specifier: invalid argument'],
  ['linux/a b', 'invalid_argument', 'platform "linux/a b": "a b" is an invalid component of "linux/a b"'],
  ['linux/', 'invalid_argument', 'platform "linux/": "" is an invalid component of "linux/"'],
  [
    'amiga',
    'invalid_argument',
    'platform "amiga": unknown operating system or architecture: invalid argument',
  ],
])('platform: %s is refused', (platform, code, message) => {
  expect(() => refuse(platform)).toThrow(expect.objectContaining({ code, message }));
});

test('platform: a variant is wanted, too, for a name with several images', () => {
  expect(wantedPlatform('linux/arm/v6')).toEqual({ os: 'linux', architecture: 'arm', variant: 'v6' });
  expect(wantedPlatform('linux/arm')).toEqual({ os: 'linux', architecture: 'arm' });
});
