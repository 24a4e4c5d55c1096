import { expect, it } from 'vitest';
import { pushTarget } from '../../../daemon/images/push/push.ts';
import { manifestBytes } from '../../../daemon/images/push/manifest-bytes.ts';
import { pullTarget } from '../../../daemon/images/pull/pull.ts';
import { parseFilters, splitTerm } from '../../../daemon/registry/search.ts';
import { registryAuth } from '../../../api/routes/registry-auth.ts';

const DIGEST = `sha256:${'a'.repeat(64)}`;
const HUB = { domain: 'docker.io', path: 'library/busybox' };
const OWN = { domain: 'r.lan:5000', path: 'a/b' };

it.each([
  ['busybox', '', HUB],
  ['busybox', '1', { ...HUB, tag: '1' }],
  ['busybox:2', '', { ...HUB, tag: '2' }],
  ['busybox:2', '1', { ...HUB, tag: '1' }],
  ['docker.io/library/busybox', 'latest', { ...HUB, tag: 'latest' }],
  ['r.lan:5000/a/b', '1', { ...OWN, tag: '1' }],
  [`r.lan:5000/a/b@${DIGEST}`, '', { ...OWN, digest: DIGEST }],
  [`r.lan:5000/a/b:1@${DIGEST}`, '', { ...OWN, digest: DIGEST }],
  ['r.lan:5000/a/b', DIGEST, { ...OWN, digest: DIGEST }],
])('pull of %s with tag %j means %j', (name, tag, expected) => {
  expect(pullTarget(name, tag)).toEqual(expected);
});

it.each([
  ['busybox', 'sha256:short', 'invalid tag format'],
  ['busybox', '.', 'invalid tag format'],
  ['Busybox', '', 'must be lowercase'],
  ['a'.repeat(64), '', 'cannot specify 64-byte hexadecimal strings'],
])('pull of %s with tag %j is refused: %s', (name, tag, message) => {
  expect(() => pullTarget(name, tag)).toThrow(message);
});

it('push takes a name and a tag, and no digest', () => {
  expect(pushTarget('r.lan:5000/a/b', '1')).toEqual({ ...OWN, tag: '1' });
  expect(pushTarget('r.lan:5000/a/b', '')).toEqual(OWN);
  expect(() => pushTarget(`busybox@${DIGEST}`, '')).toThrow('cannot push a digest reference');
});

it('the manifest of a push is written as dockerd writes it', () => {
  expect(manifestBytes({ digest: DIGEST, sizeBytes: 1 }, [{ digest: DIGEST, sizeBytes: 2 }]).toString()).toBe(
    `{
   "schemaVersion": 2,
   "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
   "config": {
      "mediaType": "application/vnd.docker.container.image.v1+json",
      "size": 1,
      "digest": "${DIGEST}"
   },
   "layers": [
      {
         "mediaType": "application/vnd.docker.image.rootfs.diff.tar.gzip",
         "size": 2,
         "digest": "${DIGEST}"
      }
   ]
}`,
  );
});

const auth = { username: 'me', password: 'a?b>c~ü', email: 'me@x' };
const known = { username: 'me', password: 'a?b>c~ü' };
const encode = (value: unknown, alphabet: BufferEncoding): string =>
  Buffer.from(JSON.stringify(value)).toString(alphabet);
it.each([
  ['both alphabets: plain', encode(auth, 'base64'), known],
  ['both alphabets: for URLs, without padding', encode(auth, 'base64url'), known],
  ['nothing', undefined, {}],
  ['an empty object', 'e30=', {}],
  ['what is no base64', '%%%', {}],
  ['what is no JSON', encode('x', 'base64').slice(0, 2), {}],
  ['what is no object', encode([1], 'base64'), {}],
  [
    'name and password in one',
    encode({ auth: Buffer.from('me:a:b').toString('base64') }, 'base64'),
    { username: 'me', password: 'a:b' },
  ],
  ['an identity token', encode({ identitytoken: 't' }, 'base64'), { identityToken: 't' }],
  ['a registry token', encode({ registrytoken: 't' }, 'base64'), { registryToken: 't' }],
  ['fields of other types', encode({ username: 1, password: {} }, 'base64'), {}],
])('X-Registry-Auth with %s', (_title, header, expected) => {
  expect(registryAuth(header)).toEqual(expected);
});

it.each([
  ['busybox', { domain: 'index.docker.io', word: 'busybox' }],
  ['library/busybox', { domain: 'index.docker.io', word: 'busybox' }],
  ['someone/thing', { domain: 'index.docker.io', word: 'someone/thing' }],
  ['r.lan/thing', { domain: 'r.lan', word: 'thing' }],
  ['localhost:5000/a/b', { domain: 'localhost:5000', word: 'a/b' }],
])('search of %s asks %j', (term, expected) => {
  expect(splitTerm(term)).toEqual(expected);
});

it.each(['../x', '-a.b/x', 'a..b/x', 'r.lan:port/x', ':/x'])('search of %s is refused', (term) => {
  expect(() => splitTerm(term)).toThrow('invalid registry name ');
});

it('filters of a search', () => {
  const item = { name: 'a', description: '', is_official: true, is_automated: false, star_count: 5 };
  const filter = (filters: Record<string, string[]>): boolean =>
    parseFilters(new Map(Object.entries(filters)))(item);
  expect([
    filter({}),
    filter({ stars: ['5'] }),
    filter({ stars: ['3', '6'] }),
    filter({ 'is-official': ['true'] }),
    filter({ 'is-official': ['0'] }),
    filter({ 'is-automated': ['false'], stars: ['1'] }),
  ]).toEqual([true, true, false, true, false, true]);
  expect(() => filter({ stars: ['many'] })).toThrow("invalid filter 'stars=[many]'");
  expect(() => filter({ 'is-official': ['perhaps'] })).toThrow("invalid filter 'is-official=[perhaps]'");
  expect(() => filter({ colour: ['red'] })).toThrow("invalid filter 'colour'");
  expect(() => splitTerm('https://x/y')).toThrow('invalid repository name "https://x/y"');
});
