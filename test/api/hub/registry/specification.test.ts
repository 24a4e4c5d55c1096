import { expect, test } from 'vitest';
import { limits } from '../../../../daemon/base/limits.ts';
import { MEDIA_TYPES } from '../../../../daemon/hub/registry/manifests/manifest.ts';
import { descriptorOf, digestOf, imageManifest } from '../../../support/hub/registry-client.ts';
import { serveRegistry } from '../../../support/hub/serve-registry.ts';

const NAME = 'alice/app';
const OTHER = digestOf('nobody has this');
const LAYER = 'a layer of some bytes';

test('a blob is pushed in one request, and pulled whole and in parts', async () => {
  await using registry = await serveRegistry();
  const alice = await registry.as('alice');
  const digest = digestOf(LAYER);
  const pushed = await alice.ask('POST', `/v2/${NAME}/blobs/uploads/?digest=${digest}`, { body: LAYER });
  expect(pushed).toMatchObject({
    status: 201,
    headers: { location: `/v2/${NAME}/blobs/${digest}`, 'docker-content-digest': digest },
  });
  const path = `/v2/${NAME}/blobs/${digest}`;
  const described = { 'content-length': '21', 'docker-content-digest': digest, 'accept-ranges': 'bytes' };
  expect(await alice.ask('HEAD', path)).toMatchObject({ status: 200, headers: described });
  const whole = await alice.ask('GET', path);
  expect([whole.status, whole.bytes.toString()]).toEqual([200, LAYER]);
  const parts = [
    ['bytes=0-0', 206, 'a', 'bytes 0-0/21'],
    ['bytes=2-6', 206, 'layer', 'bytes 2-6/21'],
    ['bytes=16-', 206, 'bytes', 'bytes 16-20/21'],
    ['bytes=16-99', 206, 'bytes', 'bytes 16-20/21'],
    ['bytes=-5', 206, 'bytes', 'bytes 16-20/21'],
    ['bytes=21-', 416, '', 'bytes */21'],
    ['bytes=1-2,4-5', 200, LAYER, undefined],
    ['bytes=5-2', 200, LAYER, undefined],
    ['lines=1-2', 200, LAYER, undefined],
  ] as const;
  for (const [range, status, text, contentRange] of parts) {
    const answer = await alice.ask('GET', path, { headers: { Range: range } });
    expect([range, answer.status, answer.bytes.toString(), answer.headers['content-range']]).toEqual([
      range,
      status,
      text,
      contentRange,
    ]);
  }
  expect((await alice.ask('GET', path, { headers: { 'If-None-Match': `"${digest}"` } })).status).toBe(304);
});

test('an upload goes on in chunks, tells how far it is, and is refused where it does not fit', async () => {
  await using registry = await serveRegistry();
  const alice = await registry.as('alice');
  const begun = await alice.ask('POST', `/v2/${NAME}/blobs/uploads/`);
  expect(begun).toMatchObject({ status: 202, headers: { range: '0-0', 'content-length': '0' } });
  const path = String(begun.headers.location);
  const chunk = (body: string, range?: string) =>
    alice.ask('PATCH', path, { body, ...(range !== undefined && { headers: { 'Content-Range': range } }) });
  expect(await chunk('01234', '0-4')).toMatchObject({ status: 202, headers: { range: '0-4' } });
  for (const [range, status, code] of [
    ['0-4', 416, 'RANGE_INVALID'],
    ['7-11', 416, 'RANGE_INVALID'],
    ['x', 416, 'RANGE_INVALID'],
    ['5-6', 400, 'SIZE_INVALID'],
  ] as const) {
    expect([range, await chunk('56789', range)]).toMatchObject([range, { status, code }]);
  }
  expect(await alice.ask('GET', path)).toMatchObject({
    status: 204,
    headers: { range: '0-4', location: path },
  });
  const streamed = await alice.ask('PATCH', path, { body: '56789', chunked: true });
  expect(streamed).toMatchObject({ status: 202, headers: { range: '0-9' } });
  const digest = digestOf('0123456789ab');
  const done = await alice.ask('PUT', `${path}?digest=${digest}`, {
    body: 'ab',
    headers: { 'Content-Range': '10-11' },
  });
  expect(done).toMatchObject({ status: 201, headers: { location: `/v2/${NAME}/blobs/${digest}` } });
  expect((await alice.ask('GET', `/v2/${NAME}/blobs/${digest}`)).bytes.toString()).toBe('0123456789ab');
  expect(await alice.ask('GET', path)).toMatchObject({ status: 404, code: 'BLOB_UPLOAD_UNKNOWN' });
});

test('an upload that is not what was said, or is given up, is gone', async () => {
  await using registry = await serveRegistry();
  const alice = await registry.as('alice');
  const begin = async () => String((await alice.ask('POST', `/v2/${NAME}/blobs/uploads/`)).headers.location);
  const path = await begin();
  expect(await alice.ask('PUT', path, { body: 'x' })).toMatchObject({ status: 400, code: 'DIGEST_INVALID' });
  expect(await alice.ask('PUT', `${path}?digest=sha256:1`, { body: '' })).toMatchObject({
    status: 400,
    code: 'DIGEST_INVALID',
  });
  expect(await alice.ask('PUT', `${path}?digest=${OTHER}`, { body: 'x' })).toMatchObject({
    status: 400,
    code: 'DIGEST_INVALID',
  });
  expect((await alice.ask('GET', path)).status).toBe(404);
  const second = await begin();
  expect((await alice.ask('DELETE', second)).status).toBe(204);
  expect((await alice.ask('DELETE', second)).status).toBe(404);
});

test('a blob is mounted from where the caller may read it, and uploaded where not', async () => {
  await using registry = await serveRegistry();
  const [alice, carol] = [await registry.as('alice'), await registry.as('carol')];
  const digest = await alice.pushBlob('alice/secret', LAYER);
  const mount = (client: typeof alice, to: string, from: string) =>
    client.ask('POST', `/v2/${to}/blobs/uploads/?mount=${digest}&from=${from}`);
  expect(await mount(alice, NAME, 'alice/secret')).toMatchObject({
    status: 201,
    headers: { location: `/v2/${NAME}/blobs/${digest}` },
  });
  expect((await alice.ask('GET', `/v2/${NAME}/blobs/${digest}`)).bytes.toString()).toBe(LAYER);
  for (const from of ['alice/secret', 'alice/nothing', 'alice/open', 'NO NAME']) {
    expect([from, await mount(carol, 'carol/app', encodeURIComponent(from))]).toMatchObject([
      from,
      { status: 202 },
    ]);
  }
  expect((await carol.ask('GET', `/v2/carol/app/blobs/${digest}`)).status).toBe(404);
});

test('a manifest is pushed and pulled by tag and digest, as the client takes it', async () => {
  await using registry = await serveRegistry();
  const alice = await registry.as('alice');
  const { digest, manifest } = await alice.pushImage(NAME, '1.0');
  for (const reference of ['1.0', digest]) {
    const answer = await alice.ask('GET', `/v2/${NAME}/manifests/${reference}`);
    expect(answer).toMatchObject({
      status: 200,
      json: manifest,
      headers: { 'content-type': MEDIA_TYPES.ociManifest, 'docker-content-digest': digest },
    });
    const head = await alice.ask('HEAD', `/v2/${NAME}/manifests/${reference}`);
    expect([head.status, head.bytes.length, head.headers['content-length']]).toEqual([
      200,
      0,
      answer.headers['content-length'],
    ]);
  }
  const tag = `/v2/${NAME}/manifests/1.0`;
  for (const [accept, status] of [
    [MEDIA_TYPES.ociManifest, 200],
    ['*/*', 200],
    [`application/json, ${MEDIA_TYPES.ociManifest};q=0.5`, 200],
    [MEDIA_TYPES.dockerManifest, 404],
    [`${MEDIA_TYPES.ociManifest};q=0`, 404],
  ] as const) {
    expect([accept, await alice.ask('GET', tag, { headers: { Accept: accept } })]).toMatchObject([
      accept,
      { status },
    ]);
  }
});

test('an index needs its manifests, and an old client gets that of its platform', async () => {
  await using registry = await serveRegistry();
  const alice = await registry.as('alice');
  const config = '{}';
  const image = { ...imageManifest(config, [LAYER]), mediaType: MEDIA_TYPES.dockerManifest };
  const child = descriptorOf(MEDIA_TYPES.dockerManifest, JSON.stringify(image));
  const index = {
    schemaVersion: 2,
    mediaType: MEDIA_TYPES.dockerList,
    manifests: [{ ...child, platform: { os: 'linux', architecture: 'amd64' } }],
  };
  await alice.pushBlob(NAME, config);
  await alice.pushBlob(NAME, LAYER);
  expect(await alice.putManifest(NAME, 'all', index)).toMatchObject({
    status: 404,
    code: 'MANIFEST_BLOB_UNKNOWN',
  });
  expect((await alice.putManifest(NAME, child.digest, image)).status).toBe(201);
  expect((await alice.putManifest(NAME, 'all', index)).status).toBe(201);
  const old = await alice.ask('GET', `/v2/${NAME}/manifests/all`, {
    headers: { Accept: MEDIA_TYPES.dockerManifest },
  });
  expect(old).toMatchObject({ status: 200, json: image, headers: { 'docker-content-digest': child.digest } });
});

const config = '{}';
const right = imageManifest(config, [LAYER]);
test.each([
  ['no JSON', '{', undefined, 400, 'MANIFEST_INVALID'],
  ['a list', '[]', undefined, 400, 'MANIFEST_INVALID'],
  ['deep lists', '['.repeat(100_000), undefined, 400, 'MANIFEST_INVALID'],
  ['schema 1', { schemaVersion: 1 }, undefined, 400, 'MANIFEST_INVALID'],
  ['another type', right, 'application/json', 400, 'MANIFEST_INVALID'],
  ['a type that it is not', right, MEDIA_TYPES.dockerManifest, 400, 'MANIFEST_INVALID'],
  ['two things at once', { ...right, manifests: [] }, undefined, 400, 'MANIFEST_INVALID'],
  ['layers twice', twice('"layers":[],'), undefined, 400, 'MANIFEST_INVALID'],
  ['layers twice, once escaped', twice(String.raw`"l\u0061yers":[],`), undefined, 400, 'MANIFEST_INVALID'],
  ['layers in two spellings', twice('"Layers":[],'), undefined, 400, 'MANIFEST_INVALID'],
  ['a size in two spellings', imageWith({ Size: 1 }), undefined, 400, 'MANIFEST_INVALID'],
  ['an annotation twice', twice('"annotations":{"a":"1","a":"2"},'), undefined, 400, 'MANIFEST_INVALID'],
  ['too many levels', { ...right, x: nested() }, undefined, 400, 'MANIFEST_INVALID'],
  ['no layers', { ...right, layers: undefined }, undefined, 400, 'MANIFEST_INVALID'],
  ['a digest that is none', imageWith({ digest: '../../etc/passwd' }), undefined, 400, 'MANIFEST_INVALID'],
  ['a digest in upper case', imageWith({ digest: OTHER.toUpperCase() }), undefined, 400, 'MANIFEST_INVALID'],
  ['a size below nothing', imageWith({ size: -1 }), undefined, 400, 'MANIFEST_INVALID'],
  ['a size that is not that of the blob', imageWith({ size: 1 }), undefined, 400, 'MANIFEST_INVALID'],
  ['a blob that is not there', imageWith({ digest: OTHER }), undefined, 404, 'MANIFEST_BLOB_UNKNOWN'],
  ['a subject that is none', { ...right, subject: 'x' }, undefined, 400, 'MANIFEST_INVALID'],
  ['annotations that are none', { ...right, annotations: { a: 1 } }, undefined, 400, 'MANIFEST_INVALID'],
  ['too many parts', { ...right, layers: manyLayers() }, undefined, 400, 'MANIFEST_INVALID'],
  ['too many bytes', ' '.repeat(limits.hubManifestBytesMax + 1), undefined, 413, 'MANIFEST_INVALID'],
])('a manifest with %s is refused, and leaves nothing', async (_what, manifest, type, status, code) => {
  await using registry = await serveRegistry();
  const alice = await registry.as('alice');
  await alice.pushBlob(NAME, config);
  await alice.pushBlob(NAME, LAYER);
  const answer = await alice.ask('PUT', `/v2/${NAME}/manifests/bad`, {
    body: typeof manifest === 'string' ? manifest : JSON.stringify(manifest),
    headers: { 'Content-Type': type ?? MEDIA_TYPES.ociManifest },
  });
  expect([answer.status, answer.code]).toEqual([status, code]);
  expect((await alice.ask('GET', `/v2/${NAME}/tags/list`)).json).toEqual({ name: NAME, tags: [] });
});

test('annotations may differ in their spelling alone', async () => {
  await using registry = await serveRegistry();
  const alice = await registry.as('alice');
  await alice.pushBlob(NAME, config);
  await alice.pushBlob(NAME, LAYER);
  const annotated = { ...right, annotations: { Layers: 'x', layers: 'y', 'a"b:{': '"a":[' } };
  expect((await alice.putManifest(NAME, 'annotated', annotated)).status).toBe(201);
});

/** The right one, with more before it. */
function twice(before: string): string {
  return JSON.stringify(right).replace('{', `{${before}`);
}

function nested(): unknown {
  return JSON.parse('['.repeat(limits.imageJsonDepthMax) + ']'.repeat(limits.imageJsonDepthMax));
}

function imageWith(change: object): object {
  const layer = descriptorOf('application/vnd.oci.image.layer.v1.tar', LAYER);
  return { ...imageManifest(config, []), layers: [{ ...layer, ...change }] };
}

function manyLayers(): object[] {
  return Array.from({ length: limits.hubManifestPartsMax + 1 }, () => descriptorOf('x/y', LAYER));
}

test.each([
  ['GET', '/v2/alice/open/manifests/none', 404, 'MANIFEST_UNKNOWN'],
  ['GET', `/v2/alice/open/manifests/${OTHER}`, 404, 'MANIFEST_UNKNOWN'],
  ['GET', '/v2/alice/open/manifests/-x', 400, 'TAG_INVALID'],
  ['GET', `/v2/alice/open/manifests/${'x'.repeat(129)}`, 400, 'TAG_INVALID'],
  ['GET', '/v2/alice/open/manifests/sha256:1', 400, 'DIGEST_INVALID'],
  ['GET', '/v2/alice/open/manifests/sha512:1', 400, 'DIGEST_INVALID'],
  ['GET', `/v2/alice/open/blobs/${OTHER}`, 404, 'BLOB_UNKNOWN'],
  ['GET', '/v2/alice/open/blobs/sha256:1', 400, 'DIGEST_INVALID'],
  ['GET', '/v2/alice/open/blobs/..%2f..%2fetc', 400, 'DIGEST_INVALID'],
  ['DELETE', `/v2/alice/open/blobs/${OTHER}`, 404, 'BLOB_UNKNOWN'],
  ['DELETE', '/v2/alice/open/manifests/none', 404, 'MANIFEST_UNKNOWN'],
  ['GET', '/v2/alice/open/blobs/uploads/1.x', 404, 'BLOB_UPLOAD_UNKNOWN'],
  ['PATCH', '/v2/alice/open/blobs/uploads/..%2f..', 404, 'BLOB_UPLOAD_UNKNOWN'],
  ['GET', '/v2/alice/nothing/tags/list', 404, 'NAME_UNKNOWN'],
  ['GET', '/v2/nobody/nothing/tags/list', 404, 'NAME_UNKNOWN'],
  ['GET', '/v2/alone/tags/list', 400, 'NAME_INVALID'],
  ['GET', '/v2/a/b/c/tags/list', 400, 'NAME_INVALID'],
  ['GET', '/v2/Alice/open/tags/list', 400, 'NAME_INVALID'],
  ['GET', '/v2/alice/..%2fopen/tags/list', 400, 'NAME_INVALID'],
  ['GET', `/v2/alice/${'x'.repeat(300)}/tags/list`, 400, 'NAME_INVALID'],
  ['POST', '/v2/alone/blobs/uploads/', 400, 'NAME_INVALID'],
  ['POST', '/v2/nobody/new/blobs/uploads/', 404, 'NAME_UNKNOWN'],
  ['GET', '/v2/alice/open/tags/list?n=x', 400, 'PAGINATION_NUMBER_INVALID'],
  ['GET', '/v2/alice/open/referrers/x', 400, 'DIGEST_INVALID'],
  ['GET', '/v2/alice/open/elsewhere', 404, 'NAME_UNKNOWN'],
  ['GET', '/v2/%zz/tags/list', 404, 'NAME_UNKNOWN'],
  ['POST', '/v2/alice/open/tags/list', 405, 'UNSUPPORTED'],
  ['PUT', '/v2/', 405, 'UNSUPPORTED'],
])('%s %s: %s %s', async (method, path, status, code) => {
  await using registry = await serveRegistry();
  const alice = await registry.as('alice');
  const answer = await alice.ask(method, path);
  expect([answer.status, answer.code]).toEqual([status, code]);
  expect(answer.headers['docker-distribution-api-version']).toBe('registry/2.0');
});

test('tags come in order and in pages, and go alone or with their manifest', async () => {
  await using registry = await serveRegistry();
  const alice = await registry.as('alice');
  const { digest } = await alice.pushImage(NAME, 'b', 'same');
  await alice.pushImage(NAME, 'c', 'same');
  await alice.pushImage(NAME, 'a', 'other');
  const list = async (query = '') => {
    const { json, headers } = await alice.ask('GET', `/v2/${NAME}/tags/list${query}`);
    return [json, headers.link];
  };
  expect(await list()).toEqual([{ name: NAME, tags: ['a', 'b', 'c'] }, undefined]);
  const next = `</v2/${NAME}/tags/list?n=2&last=b>; rel="next"`;
  expect(await list('?n=2')).toEqual([{ name: NAME, tags: ['a', 'b'] }, next]);
  expect(await list('?n=2&last=b')).toEqual([{ name: NAME, tags: ['c'] }, undefined]);
  expect(await list('?n=0')).toEqual([{ name: NAME, tags: [] }, undefined]);
  expect((await alice.ask('DELETE', `/v2/${NAME}/manifests/c`)).status).toBe(202);
  expect(await list()).toEqual([{ name: NAME, tags: ['a', 'b'] }, undefined]);
  expect((await alice.ask('GET', `/v2/${NAME}/manifests/${digest}`)).status).toBe(200);
  expect((await alice.ask('DELETE', `/v2/${NAME}/manifests/${digest}`)).status).toBe(202);
  expect(await list()).toEqual([{ name: NAME, tags: ['a'] }, undefined]);
  expect((await alice.ask('GET', `/v2/${NAME}/manifests/${digest}`)).status).toBe(404);
});

test('a blob that a manifest names is not deleted', async () => {
  await using registry = await serveRegistry();
  const alice = await registry.as('alice');
  const { digest } = await alice.pushImage(NAME, '1', LAYER);
  const path = `/v2/${NAME}/blobs/${digestOf(LAYER)}`;
  expect(await alice.ask('DELETE', path)).toMatchObject({ status: 403, code: 'DENIED' });
  await alice.ask('DELETE', `/v2/${NAME}/manifests/${digest}`);
  expect((await alice.ask('DELETE', path)).status).toBe(202);
  expect((await alice.ask('HEAD', path)).status).toBe(404);
});

test('what is about a manifest is listed, by its type where that is asked for', async () => {
  await using registry = await serveRegistry();
  const alice = await registry.as('alice');
  const { digest } = await alice.pushImage(NAME, '1');
  const subject = { mediaType: MEDIA_TYPES.ociManifest, digest, size: 1 };
  const about = (type: string) =>
    imageManifest(config, [], { subject, artifactType: type, annotations: { of: type } });
  await alice.pushBlob(NAME, config);
  for (const type of ['test/one', 'test/two']) {
    const pushed = await alice.putManifest(NAME, digestOf(JSON.stringify(about(type))), about(type));
    expect([pushed.status, pushed.headers['oci-subject']]).toEqual([201, digest]);
  }
  const entry = (type: string) => ({
    ...descriptorOf(MEDIA_TYPES.ociManifest, JSON.stringify(about(type))),
    artifactType: type,
    annotations: { of: type },
  });
  const path = `/v2/${NAME}/referrers/${digest}`;
  const all = await alice.ask('GET', path);
  expect(all).toMatchObject({ status: 200, headers: { 'content-type': MEDIA_TYPES.ociIndex } });
  expect(all.json).toEqual({
    schemaVersion: 2,
    mediaType: MEDIA_TYPES.ociIndex,
    manifests: expect.arrayContaining([entry('test/one'), entry('test/two')]),
  });
  const some = await alice.ask('GET', `${path}?artifactType=test/two`);
  expect([some.json, some.headers['oci-filters-applied']]).toEqual([
    { schemaVersion: 2, mediaType: MEDIA_TYPES.ociIndex, manifests: [entry('test/two')] },
    'artifactType',
  ]);
  expect((await alice.ask('GET', `/v2/${NAME}/referrers/${OTHER}`)).json).toMatchObject({ manifests: [] });
});
