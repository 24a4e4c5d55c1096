import { expect, test } from 'vitest';
import { fakePorts, IMAGE } from '../support/api/fake-ports.ts';
import { startServer } from '../support/api/api-server.ts';

const ARM = encodeURIComponent('{"os":"linux","architecture":"arm64","variant":"v8"}');

test.each([
  ['/v1.55', { platform: { os: 'linux', architecture: 'arm64', variant: 'v8' }, manifests: false }],
  ['/v1.48', { manifests: false }],
])('platform: GET %s/images/a/json asks for it from 1.49 on', async (version, asked) => {
  const seen: unknown[] = [];
  const ports = fakePorts({
    images: {
      inspect: (ref, options) => {
        seen.push([ref, options]);
        return Promise.resolve(IMAGE);
      },
    },
  });
  await using server = await startServer(ports);
  const { status } = await server.request('GET', `${version}/images/a/json?platform=${ARM}`);
  expect([status, seen]).toEqual([200, [['a', asked]]]);
});

test.each([
  ['platform=x', 'parameter platform: must be JSON of a platform, got x'],
  ['platform=[]', 'parameter platform: must be a JSON object, got []'],
  ['platform={"os":1}', 'parameter platform: os must be a string, got {"os":1}'],
  [
    'platform={"os":"linux"}',
    'parameter platform: both os and architecture must be given, got {"os":"linux"}',
  ],
  [`platform=${ARM}&platform=${ARM}`, 'parameter platform: only one platform can be chosen, got 2'],
  [`platform=${ARM}&manifests=1`, 'conflicting options: manifests and platform options cannot both be set'],
])('platform: %s is refused', async (query, message) => {
  await using server = await startServer(fakePorts());
  const { status, body } = await server.request('GET', `/images/a/json?${query}`);
  expect([status, JSON.parse(body)]).toEqual([400, { message }]);
});

test.each([
  ['/v1.55', 'manifests=1&identity=1', { manifests: true, identity: true }],
  ['/v1.53', 'manifests=1&identity=1', { manifests: true, identity: false }],
  ['/v1.46', 'manifests=1&identity=1', { manifests: false, identity: false }],
])('manifests: GET %s/images/json?%s', async (version, query, asked) => {
  const seen: unknown[] = [];
  const ports = fakePorts({
    images: {
      list: ({ manifests, identity }) => {
        seen.push({ manifests, identity });
        return Promise.resolve([]);
      },
    },
  });
  await using server = await startServer(ports);
  const { status } = await server.request('GET', `${version}/images/json?${query}`);
  expect([status, seen]).toEqual([200, [asked]]);
});

test('manifests: identity of a list is told in them alone', async () => {
  await using server = await startServer(fakePorts());
  const { status, body } = await server.request('GET', '/v1.54/images/json?identity=1');
  expect([status, JSON.parse(body)]).toEqual([
    400,
    { message: 'conflicting options: identity requires manifests=1' },
  ]);
});

test.each([
  ['', { types: [], statement: false }],
  [
    `type=a&type=b&statement=1&platform=${ARM}`,
    {
      types: ['a', 'b'],
      statement: true,
      platform: { os: 'linux', architecture: 'arm64', variant: 'v8' },
    },
  ],
])('GET /images/a/attestations?%s', async (query, asked) => {
  const seen: unknown[] = [];
  const ports = fakePorts({
    images: {
      attestations: (ref, options) => {
        seen.push([ref, options]);
        return Promise.resolve([]);
      },
    },
  });
  await using server = await startServer(ports);
  const { status, body } = await server.request('GET', `/images/a/attestations?${query}`);
  expect([status, body.trim(), seen]).toEqual([200, '[]', [['a', asked]]]);
});
