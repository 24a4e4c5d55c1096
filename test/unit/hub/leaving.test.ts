import { expect, test } from 'vitest';
import { leavingWith, listedBelow } from '../../../daemon/hub/registry/manifests/leaving.ts';
import { MEDIA_TYPES, type Manifest } from '../../../daemon/hub/registry/manifests/manifest.ts';

interface Given {
  lists?: string[];
  about?: string;
}

function manifest(digest: string, { lists = [], about }: Given): Manifest {
  return {
    digest,
    mediaType: lists.length > 0 ? MEDIA_TYPES.ociIndex : MEDIA_TYPES.ociManifest,
    size: 1,
    artifactType: null,
    subject: about ?? null,
    config: null,
    layers: [],
    children: lists.map((child) => ({ digest: child, mediaType: MEDIA_TYPES.ociManifest, platform: null })),
    annotations: {},
    labels: {},
    pushedMs: 0,
  };
}

/** What is there, what stays by itself, and what goes with `index`, in order. */
test.each<[string, Record<string, Given>, string[], string[]]>([
  ['what it lists', { index: { lists: ['a', 'b'] }, a: {}, b: {}, other: {} }, [], ['index', 'a', 'b']],
  ['not what a tag leads to', { index: { lists: ['a', 'b'] }, a: {}, b: {} }, ['a'], ['index', 'b']],
  [
    'not what another index lists, with a tag or without',
    { index: { lists: ['a', 'b'] }, a: {}, b: {}, second: { lists: ['b'] } },
    [],
    ['index', 'a'],
  ],
  [
    'an index in it with all that only that lists, each behind what lists it',
    { index: { lists: ['a', 'inner'] }, a: {}, inner: { lists: ['a', 'b'] }, b: {} },
    [],
    ['index', 'inner', 'a', 'b'],
  ],
  [
    'not what an index in it lists that stays',
    { index: { lists: ['a', 'inner'] }, a: {}, inner: { lists: ['b'] }, b: {} },
    ['inner'],
    ['index', 'a'],
  ],
  [
    'not what an index elsewhere lists through another one',
    { index: { lists: ['a'] }, a: {}, far: { lists: ['near'] }, near: { lists: ['a'] } },
    ['far'],
    ['index'],
  ],
  [
    'an attestation with the image that it is about',
    { index: { lists: ['a', 'proof'] }, a: {}, proof: { about: 'a' } },
    [],
    ['index', 'a', 'proof'],
  ],
  [
    'not an attestation whose image stays',
    { index: { lists: ['a', 'proof'] }, a: {}, proof: { about: 'a' } },
    ['a'],
    ['index'],
  ],
  [
    'what is about something that is not there, or about the index',
    { index: { lists: ['a', 'b'] }, a: { about: 'nothing' }, b: { about: 'index' } },
    [],
    ['index', 'a', 'b'],
  ],
  [
    'not a signature that it does not list',
    { index: { lists: ['a'] }, a: {}, signature: { about: 'a' }, whole: { about: 'index' } },
    [],
    ['index', 'a'],
  ],
  [
    'what is listed twice once, and nothing for what is lost',
    { index: { lists: ['a', 'a', 'lost'] }, a: {} },
    [],
    ['index', 'a'],
  ],
  ['itself, though a tag leads to it', { index: { lists: ['a'] }, a: {} }, ['index'], ['index', 'a']],
  [
    'itself, though another one lists it',
    { index: { lists: ['a'] }, a: {}, outer: { lists: ['index'] } },
    [],
    ['index', 'a'],
  ],
])('with an index goes %s', (_, there, staying, expected) => {
  const all = Object.entries(there).map(([digest, given]) => manifest(digest, given));
  const index = all.find(({ digest }) => digest === 'index');
  if (index === undefined) {
    throw new Error('there is no index');
  }
  const stays = ({ digest }: Manifest): boolean => staying.includes(digest);
  const leaving = leavingWith(all, { index, listed: listedBelow(all, index), stays });
  expect(leaving.map(({ digest }) => digest)).toEqual(expected);
});

test('what an index has left goes without it', () => {
  const all = [manifest('a', {}), manifest('b', {}), manifest('other', { lists: ['b'] })];
  const query = { index: undefined, listed: ['a', 'b', 'lost'], stays: () => false };
  expect(leavingWith(all, query).map(({ digest }) => digest)).toEqual(['a']);
});

test('ten thousand indexes in each other are looked through in one pass', () => {
  const all = Array.from({ length: 10_000 }, (_, at) =>
    manifest(at === 0 ? 'index' : String(at), { lists: [String(at + 1)] }),
  );
  const [index] = all;
  if (index === undefined) {
    throw new Error('there is no index');
  }
  const leaving = leavingWith(all, { index, listed: listedBelow(all, index), stays: () => false });
  expect(leaving).toEqual(all);
});
