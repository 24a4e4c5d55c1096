import { expect, test } from 'vitest';
import { ManifestLists } from '../../../daemon/images/lists/manifest-lists.ts';

const row = (id: string, meant: string, ...images: string[]): Parameters<ManifestLists['add']>[0] => ({
  id,
  imageId: meant,
  sizeBytes: 1,
  isOci: false,
  names: [],
  images: images.map((imageId) => ({ imageId })),
});

test('an image knows the lists that it is in, and those that go with it', () => {
  const lists = new ManifestLists();
  lists.add(row('one', 'a', 'a', 'b'));
  lists.add(row('two', 'a', 'b', 'a', 'c'));
  expect(lists.of('a').map(({ id }) => id)).toEqual(['one', 'two']);
  expect(lists.of('b')).toEqual([]);
  expect([lists.isListed('a'), lists.isListed('b')]).toEqual([false, true]);
  expect(lists.companionsOf('a')).toEqual(['b', 'c']);
  lists.remove('two');
  expect(lists.companionsOf('a')).toEqual(['b']);
  expect([lists.get('two'), lists.having('c')]).toEqual([undefined, []]);
});

test('images that could not be read are left out, and lists of one that names mean', () => {
  const lists = new ManifestLists();
  lists.load([row('one', 'a', 'a', 'b'), row('two', 'b', 'a', 'b')], (id) => id !== 'b');
  expect(lists.get('one')?.images).toEqual([{ imageId: 'a' }]);
  expect(lists.get('two')).toBeUndefined();
});
