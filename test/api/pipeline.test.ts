import { expect, test } from 'vitest';
import type { ContainerCreateRequest } from '../../api/types/container.ts';
import { EngineError, conflict, notFound } from '../../daemon/base/errors.ts';
import { startServer } from '../support/api/api-server.ts';
import { fakePorts } from '../support/api/fake-ports.ts';
import { until } from '../support/engine/http.ts';

const JSON_TYPE = { 'content-type': 'application/json' };

test('every answer: carries the headers clients negotiate by, refusals of a version included', async () => {
  await using server = await startServer();
  for (const path of ['/info', '/v1.24/info', '/v1.21/info', '/v9.9/info', '/nothing', '/plugins/x/enable']) {
    const { headers } = await server.request('GET', path);
    expect(headers).toMatchObject({
      'api-version': '1.55',
      'docker-experimental': 'false',
      ostype: 'linux',
      server: 'Docker/0.1.0 (linux)',
    });
  }
});

test('_ping: answers GET with OK and HEAD with nothing, both with what clients ask it for', async () => {
  await using server = await startServer();
  for (const [method, body, length] of [
    ['GET', 'OK', '2'],
    ['HEAD', '', '0'],
  ] as const) {
    for (const path of ['/_ping', '/v1.24/_ping', '/v1.44/_ping']) {
      const answer = await server.request(method, path);
      expect(answer).toMatchObject({
        status: 200,
        body,
        headers: {
          'content-type': 'text/plain; charset=utf-8',
          'content-length': length,
          'builder-version': '2',
          swarm: 'inactive',
          'cache-control': 'no-cache, no-store, must-revalidate',
          pragma: 'no-cache',
        },
      });
    }
  }
});

test.each([
  ['GET', '/v1.56/info', 400, 'client version 1.56 is too new. Maximum supported API version is 1.55'],
  ['GET', '/nothing', 404, 'page not found'],
  ['PATCH', '/info', 404, 'page not found'],
  ['POST', '/info', 404, 'page not found'],
  ['GET', '/info/', 404, 'page not found'],
  ['POST', '/plugins/x/enable', 501, 'plugins are not supported yet'],
  ['POST', '/plugins/a/b/c/push', 501, 'plugins are not supported yet'],
  ['GET', '/v1.25/plugins/a/b/json', 501, 'plugins are not supported yet'],
  ['POST', '/swarm/leave', 503, 'This node is not part of a swarm'],
  ['POST', '/v1.24/swarm/leave', 406, 'This node is not part of a swarm'],
  ['POST', '/images/create', 400, /^parameter fromImage or fromSrc is required/],
  ['GET', '/plugins?filters={"x":["y"]}', 400, "invalid filter 'x'"],
  ['POST', '/containers/x/resize?h=a&w=1', 400, /parameter h/],
  ['GET', '/containers/json?filters=[]', 400, 'invalid filters: must be a JSON object'],
  ['GET', '/events?since=10&until=5', 400, /cannot be after/],
  ['GET', '/containers/a%00b/json', 400, /NUL/],
  ['POST', '/containers/x/wait?condition=never', 400, 'invalid condition: "never"'],
  ['GET', '/images/get', 400, /parameter names is required/],
])('%s %s: answers %i', async (method, path, status, message) => {
  await using server = await startServer();
  const answer = await server.request(method, path);
  // Every error body is {message}.
  const { message: text } = JSON.parse(answer.body) as { message: string };
  expect(answer.status).toBe(status);
  expect(answer.headers['content-type']).toBe('application/json');
  expect(text).toMatch(message);
});

test.each([
  ['GET', '/system/df'],
  ['GET', '/distribution/a/b/json'],
  ['GET', '/plugins?filters={"enabled":["true"]}'],
  ['POST', '/containers/prune'],
  ['POST', '/images/prune'],
  ['POST', '/volumes/prune'],
  ['POST', '/networks/prune'],
  ['POST', '/build/prune'],
])('versions: %s %s is served under those it is newer than, as by dockerd', async (method, path) => {
  await using server = await startServer();
  const statuses = [];
  for (const version of ['', '/v1.44', '/v1.24', '/v1.22']) {
    statuses.push((await server.request(method, `${version}${path}`)).status);
  }
  expect(statuses).toEqual([200, 200, 200, 200]);
});

test('plugins: there are none', async () => {
  await using server = await startServer();
  expect(await server.request('GET', '/plugins')).toMatchObject({ status: 200, body: '[]\n' });
});

test('plugins: a filter that is true or false is nothing else', async () => {
  await using server = await startServer();
  const filters = encodeURIComponent('{"enabled":["x"]}');
  const { status, body } = await server.request('GET', `/plugins?filters=${filters}`);
  expect([status, JSON.parse(body)]).toEqual([400, { message: "invalid filter 'enabled=[x]'" }]);
});

test.each([
  ['POST', '/volumes/create', 400, 'ClusterVolumeSpec: cluster volumes are not supported yet'],
  ['PUT', '/volumes/a?version=1', 501, 'cluster volumes are not supported yet'],
])('volumes of a cluster: %s %s is %i', async (method, path, status, message) => {
  await using server = await startServer();
  const answer = await server.request(method, path, {
    body: '{"Name":"a","ClusterVolumeSpec":{"Group":"g"}}',
    headers: { 'content-type': 'application/json' },
  });
  expect([answer.status, JSON.parse(answer.body)]).toEqual([status, { message }]);
});

test('OPTIONS: is 200 on any path', async () => {
  await using server = await startServer();
  expect(await server.request('OPTIONS', '/any/path')).toMatchObject({ status: 200, body: '' });
});

test.each([
  [notFound('No such container: x'), 404, '{"message":"No such container: x"}\n'],
  [conflict('in use'), 409, '{"message":"in use"}\n'],
  [new EngineError('not_modified', 'already started'), 304, ''],
  [new Error('surprise'), 500, '{"message":"surprise"}\n'],
])('an error of the engine: %s becomes its status and {message}', async (error, status, body) => {
  const start = async () => {
    throw error;
  };
  await using server = await startServer(fakePorts({ containers: { start } }));
  expect(await server.request('POST', '/containers/x/start')).toMatchObject({ status, body });
});

test('statuses: are those of the documentation', async () => {
  await using server = await startServer();
  const statuses: string[] = [];
  for (const [method, path, body] of [
    ['POST', '/containers/create', '{}'],
    ['POST', '/containers/x/start'],
    ['POST', '/containers/x/stop?t=1'],
    ['POST', '/containers/x/restart'],
    ['POST', '/containers/x/kill'],
    ['POST', '/containers/x/rename?name=y'],
    ['POST', '/containers/x/resize?h=1&w=2'],
    ['DELETE', '/containers/x?v=1'],
    ['POST', '/containers/prune'],
    ['POST', '/containers/x/exec', '{"Cmd":["a"]}'],
    ['POST', '/exec/x/start', '{"Detach":true}'],
    ['POST', '/exec/x/resize?h=1&w=2'],
    ['POST', '/v1.24/exec/x/resize?h=1&w=2'],
    ['POST', '/images/a/tag?repo=b'],
    ['DELETE', '/images/a/b:c'],
    ['POST', '/volumes/create', '{}'],
    ['POST', '/volumes/create'],
    ['DELETE', '/volumes/a'],
  ] as const) {
    const answer = await server.request(method, path, body === undefined ? {} : { headers: JSON_TYPE, body });
    statuses.push(`${answer.status} ${method} ${path}`);
  }
  expect(statuses).toMatchInlineSnapshot(`
    [
      "201 POST /containers/create",
      "204 POST /containers/x/start",
      "204 POST /containers/x/stop?t=1",
      "204 POST /containers/x/restart",
      "204 POST /containers/x/kill",
      "204 POST /containers/x/rename?name=y",
      "200 POST /containers/x/resize?h=1&w=2",
      "204 DELETE /containers/x?v=1",
      "200 POST /containers/prune",
      "201 POST /containers/x/exec",
      "200 POST /exec/x/start",
      "200 POST /exec/x/resize?h=1&w=2",
      "201 POST /v1.24/exec/x/resize?h=1&w=2",
      "201 POST /images/a/tag?repo=b",
      "200 DELETE /images/a/b:c",
      "201 POST /volumes/create",
      "201 POST /volumes/create",
      "204 DELETE /volumes/a",
    ]
  `);
});

test('images: names with slashes, tags and digests reach the engine decoded', async () => {
  const seen: string[] = [];
  const ports = fakePorts({
    images: {
      history: (ref) => {
        seen.push(ref);
        return Promise.resolve([]);
      },
    },
  });
  await using server = await startServer(ports);
  for (const name of ['a', 'library/busybox', 'host:5000/a/b:tag', 'a%2Fb', `a@sha256:${'0'.repeat(64)}`]) {
    await server.request('GET', `/images/${name}/history`);
  }
  expect(seen).toEqual(['a', 'library/busybox', 'host:5000/a/b:tag', 'a/b', `a@sha256:${'0'.repeat(64)}`]);
});

test('filters: both forms of clients are the same to the engine', async () => {
  const seen: unknown[] = [];
  const ports = fakePorts({
    containers: {
      list: ({ filters }) => {
        seen.push([...filters]);
        return Promise.resolve([]);
      },
    },
  });
  await using server = await startServer(ports);
  for (const filters of ['{"name":{"web":true}}', '{"name":["web"]}']) {
    await server.request('GET', `/containers/json?filters=${encodeURIComponent(filters)}`);
  }
  expect(seen).toEqual([[['name', ['web']]], [['name', ['web']]]]);
});

test('container create: an old request arrives in the newest shape', async () => {
  const seen: [string | undefined, ContainerCreateRequest][] = [];
  const ports = fakePorts({
    containers: {
      create: (name, body) => {
        seen.push([name, body]);
        return Promise.resolve({ Id: 'i', Warnings: [] });
      },
    },
  });
  await using server = await startServer(ports);
  const body = JSON.stringify({
    Image: 'a',
    Cmd: 'x',
    HostConfig: { AutoRemove: true, KernelMemory: 5, NanoCpus: 6 },
  });
  await server.request('POST', '/v1.24/containers/create?name=web', { headers: JSON_TYPE, body });
  await server.request('POST', '/v1.44/containers/create', { headers: JSON_TYPE, body });
  expect(seen).toEqual([
    [
      'web',
      {
        Image: 'a',
        Cmd: ['x'],
        HostConfig: { KernelMemory: 5, NanoCpus: 6, IpcMode: 'shareable', CgroupnsMode: 'host' },
      },
    ],
    [undefined, { Image: 'a', Cmd: ['x'], HostConfig: { AutoRemove: true, NanoCpus: 6 } }],
  ]);
});

test.each([
  [{ body: '{}' }, 'malformed Content-Type header (): mime: no media type'],
  [
    { body: 'a=b', headers: { 'content-type': 'text/plain' } },
    "unsupported Content-Type header (text/plain): must be 'application/json'",
  ],
  [{}, 'invalid JSON: got EOF while reading request body'],
  [{ headers: JSON_TYPE, body: '{"Image":' }, /^invalid JSON: /],
  [{ headers: JSON_TYPE, body: '['.repeat(1_000_000) }, 'invalid JSON: nested deeper than 32 levels'],
  [{ headers: JSON_TYPE, body: '{"Tty":"yes"}' }, 'invalid value for field Tty: must be boolean, got "yes"'],
])('container create: body %# is refused', async (options, message) => {
  await using server = await startServer();
  const { status, body } = await server.request('POST', '/containers/create', options);
  const { message: text } = JSON.parse(body) as { message: string };
  expect(status).toBe(400);
  expect(text).toMatch(message);
});

test('a body that is too large: is refused before it is read, and the connection ends', async () => {
  await using server = await startServer();
  const announced = await server.raw(
    'POST /containers/create HTTP/1.1\r\nHost: d\r\nContent-Type: application/json\r\n' +
      'Content-Length: 99999999999\r\n\r\n{"Image":"',
  );
  expect(announced).toMatch(/^HTTP\/1.1 400 .*Connection: close\r\n.*larger than 4194304 bytes/s);
  const body =
    'POST /containers/create HTTP/1.1\r\nHost: d\r\nContent-Type: application/json\r\n' +
    `Transfer-Encoding: chunked\r\n\r\n${'10000\r\n'.concat('x'.repeat(65_536), '\r\n').repeat(700)}` +
    // A request behind it is not looked at.
    '0\r\n\r\nGET /_ping HTTP/1.1\r\nHost: d\r\n\r\n';
  let chunked = '';
  // One of us that gets no time to run for longer than the connection lingers hears of a broken pipe.
  await until('an answer', async () => {
    chunked = await server.raw(body).catch(() => '');
    return chunked !== '';
  });
  expect(chunked.match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 400']);
  expect(chunked).toContain('larger than 4194304 bytes');
});

test('start: a body with a HostConfig is refused, an empty object is not', async () => {
  await using server = await startServer();
  const headers = JSON_TYPE;
  expect(await server.request('POST', '/containers/x/start', { headers, body: '{}' })).toMatchObject({
    status: 204,
  });
  expect(
    await server.request('POST', '/containers/x/start', { headers, body: '{"HostConfig":{}}' }),
  ).toMatchObject({
    status: 400,
    body:
      '{"message":"starting container with non-empty request body was deprecated since API v1.22 and ' +
      'removed in v1.24"}\n',
  });
});
