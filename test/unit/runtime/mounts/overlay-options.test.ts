import { expect, test } from 'vitest';
import { fitsAsNames, overlayOptions } from '../../../../runtime/mounts/overlay-options.ts';

const directories = { lowers: ['/l/2', '/l/1'], upper: '/c/upper', work: '/c/work' };

test('overlayOptions names the top layer first', () => {
  expect(overlayOptions(directories)).toBe('index=off,lowerdir=/l/2:/l/1,upperdir=/c/upper,workdir=/c/work');
});

test.each([
  ['plain names', {}, true],
  ['a colon', { lowers: ['/a:b'] }, false],
  ['a comma', { upper: '/a,b' }, false],
  ['a backslash', { work: '/a\\b' }, false],
  ['a quote', { work: '/a"b' }, false],
  [
    'more than a page',
    { lowers: Array.from({ length: 100 }, (_unused, index) => `/${'x'.repeat(40)}${index}`) },
    false,
  ],
])('fitsAsNames with %s', (_title, change, fits) => {
  expect(fitsAsNames({ ...directories, ...change })).toBe(fits);
});
