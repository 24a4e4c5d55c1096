import { expect, test } from 'vitest';
import { isForPlatform, otherPlatform } from '../../../daemon/images/platform-asked.ts';

const own = { os: 'linux', architecture: 'arm64', variant: 'v8' };

test.each([
  [{ os: 'linux', architecture: 'arm64' }, true],
  [{ os: 'linux', architecture: 'arm64', variant: 'v8' }, true],
  [{ os: 'linux', architecture: 'arm64', variant: 'v9' }, false],
  [{ os: 'linux', architecture: 'amd64' }, false],
  [{ os: 'windows', architecture: 'arm64' }, false],
])('isForPlatform: %j', (asked, answer) => {
  expect(isForPlatform(own, asked)).toBe(answer);
  // An image that tells no variant fits any.
  expect(isForPlatform({ ...own, variant: '' }, { ...asked, variant: 'v9' })).toBe(
    asked.os === 'linux' && asked.architecture === 'arm64',
  );
});

test.each([
  ['', 'linux/arm64'],
  ['v8', 'linux/arm64/v8'],
])('otherPlatform: an image of variant "%s" is told as %s', (variant, text) => {
  expect(otherPlatform('a', { os: 'linux', architecture: 'amd64' }, { ...own, variant }).message).toBe(
    `image with reference a was found but its platform (${text}) does not match the specified platform (linux/amd64)`,
  );
});
