import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import type { SwarmPort } from '../../../api/types/swarm/ports.ts';
import type { ServiceSpec } from '../../../api/types/swarm/service.ts';
import { EngineError } from '../../../daemon/base/errors.ts';
import { startServer } from '../../support/api/api-server.ts';
import { fakePorts } from '../../support/api/fake-ports.ts';
import { fakeSwarm } from '../../support/api/fake-swarm.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const json = (body: unknown, headers: Record<string, string> = {}): object => ({
  headers: { ...JSON_TYPE, ...headers },
  body: JSON.stringify(body),
});

test.each([
  ['/swarm/update', 'invalid swarm version \'\': strconv.ParseUint: parsing "": invalid syntax'],
  ['/swarm/update?version=a', 'invalid swarm version \'a\': strconv.ParseUint: parsing "a": invalid syntax'],
  [
    '/swarm/update?version=-1',
    'invalid swarm version \'-1\': strconv.ParseUint: parsing "-1": invalid syntax',
  ],
  [
    '/swarm/update?version=18446744073709551616',
    "invalid swarm version '18446744073709551616': strconv.ParseUint: " +
      'parsing "18446744073709551616": value out of range',
  ],
  [
    '/nodes/x/update?version=1.5',
    'invalid node version \'1.5\': strconv.ParseUint: parsing "1.5": invalid syntax',
  ],
  ['/services/x/update', 'invalid service version \'\': strconv.ParseUint: parsing "": invalid syntax'],
  ['/secrets/x/update?version=x', 'invalid secret version'],
  ['/configs/x/update', 'invalid config version'],
  ['/swarm/update?version=1&rotateWorkerToken=yes', 'invalid value for rotateWorkerToken: yes'],
  ['/swarm/update?version=1&rotateManagerToken=2', 'invalid value for rotateManagerToken: 2'],
  ['/swarm/update?version=1&rotateManagerUnlockKey=no', 'invalid value for rotateManagerUnlockKey: no'],
])('POST %s: is refused in the words of dockerd', async (path, message) => {
  await using server = await startServer(fakePorts({ swarm: fakeSwarm() }));
  const answer = await server.request('POST', path, json({}));
  expect({ status: answer.status, body: JSON.parse(answer.body) as unknown }).toEqual({
    status: 400,
    body: { message },
  });
});

test.each([
  [
    '/services?status=maybe',
    'invalid value for status: maybe: strconv.ParseBool: parsing "maybe": invalid syntax',
  ],
  [
    '/services/x?insertDefaults=maybe',
    'invalid value for insertDefaults: maybe: strconv.ParseBool: parsing "maybe": invalid syntax',
  ],
  ['/services?filters=nonsense', /^invalid filters: /],
  ['/services/x/logs', "must specify at least one of 'stdout' or 'stderr'"],
  ['/tasks/x/logs?stdout=0', "must specify at least one of 'stdout' or 'stderr'"],
  ['/tasks/x/logs?stdout=1&since=yesterday', /parameter since/],
  ['/tasks/x/logs?stdout=1&tail=few', /parameter tail/],
])('GET %s: is refused with its value', async (path, message) => {
  await using server = await startServer(fakePorts({ swarm: fakeSwarm() }));
  const answer = await server.request('GET', path);
  const { message: text } = JSON.parse(answer.body) as { message: string };
  expect(answer.status).toBe(400);
  expect(text).toMatch(message);
});

test.each([
  ['/services/create', { TaskTemplate: 1 }, 'field TaskTemplate: must be object, got a number'],
  [
    '/services/create',
    { TaskTemplate: { ContainerSpec: { Image: 5 } } },
    'field TaskTemplate.ContainerSpec.Image: must be string, got 5',
  ],
  [
    '/services/create',
    { Mode: { Replicated: { Replicas: 1.5 } } },
    'field Mode.Replicated.Replicas: must be integer, got 1.5',
  ],
  [
    '/services/create',
    { UpdateConfig: { MaxFailureRatio: 'half' } },
    'field UpdateConfig.MaxFailureRatio: must be number, got "half"',
  ],
  [
    '/services/x/update?version=1',
    { EndpointSpec: { Ports: [{ TargetPort: '80' }] } },
    'field EndpointSpec.Ports.0.TargetPort: must be integer, got "80"',
  ],
  // What may be a password is not repeated.
  [
    '/services/create',
    { TaskTemplate: { ContainerSpec: { Env: [{ PASSWORD: 'x' }] } } },
    'field TaskTemplate.ContainerSpec.Env.0: must be string, got an object',
  ],
  ['/secrets/create', { Data: 12345 }, 'field Data: must be string, got a number'],
  ['/configs/create', { Labels: { a: 1 } }, 'field Labels.a: must be string, got a number'],
  ['/nodes/x/update?version=1', { Role: true }, 'field Role: must be string, got true'],
  [
    '/swarm/init',
    { Spec: { Raft: { SnapshotInterval: -1 } } },
    'field Spec.Raft.SnapshotInterval: must be >= 0, got -1',
  ],
  ['/swarm/join', { RemoteAddrs: '10.0.0.1' }, 'field RemoteAddrs: must be array, got "10.0.0.1"'],
  ['/swarm/join', { JoinToken: ['SWMTKN'] }, 'field JoinToken: must be string, got a list'],
  ['/swarm/unlock', { UnlockKey: 1 }, 'field UnlockKey: must be string, got a number'],
  [
    '/swarm/update?version=1',
    { Dispatcher: { HeartbeatPeriod: '5s' } },
    'field Dispatcher.HeartbeatPeriod: must be integer, got "5s"',
  ],
])('POST %s: %j is refused by its field', async (path, body, message) => {
  await using server = await startServer(fakePorts({ swarm: fakeSwarm() }));
  const answer = await server.request('POST', path, json(body));
  expect({ status: answer.status, body: JSON.parse(answer.body) as unknown }).toEqual({
    status: 400,
    body: { message: `invalid value for ${message}` },
  });
});

test.each([
  ['POST', '/nodes/x/update'],
  ['POST', '/services/x/update'],
  ['POST', '/secrets/x/update'],
  ['POST', '/configs/x/update'],
  ['GET', '/nodes?filters=a'],
  ['GET', '/services?filters=a'],
  ['GET', '/services?status=a'],
  ['GET', '/services/x?insertDefaults=a'],
  ['GET', '/services/x/logs'],
  ['GET', '/tasks?filters=a'],
  ['GET', '/tasks/x/logs'],
  ['GET', '/secrets?filters=a'],
  ['GET', '/configs?filters=a'],
])('%s %s: is refused as it is before this node is', async (method, path) => {
  await using server = await startServer({ ...fakePorts(), swarm: unpreparedSwarm() });
  expect((await server.request(method, path, method === 'POST' ? json({}) : {})).status).toBe(400);
  expect((await server.request('GET', '/nodes')).status).toBe(503);
});

function unprepared(): never {
  throw new EngineError('unavailable', 'This node is not a swarm manager.');
}

/** Its ports cannot even be taken. */
function unpreparedSwarm(): SwarmPort {
  const swarm = fakeSwarm();
  for (const port of ['nodes', 'services', 'tasks', 'secrets', 'configs']) {
    Object.defineProperty(swarm, port, { get: unprepared, enumerable: true });
  }
  return swarm;
}

test.each(['/swarm/init', '/services/create', '/secrets/create', '/nodes/x/update?version=1'])(
  'POST %s: needs a body',
  async (path) => {
    await using server = await startServer(fakePorts({ swarm: fakeSwarm() }));
    const { status, body } = await server.request('POST', path);
    expect([status, body]).toEqual([400, '{"message":"invalid JSON: got EOF while reading request body"}\n']);
  },
);

test('what a client says beside the body reaches the manager', async () => {
  const seen: unknown[] = [];
  const note =
    <T>(answer: T) =>
    (...given: unknown[]): Promise<T> => {
      // The signal of a request is of its own each time.
      seen.push(
        given.map((each) =>
          JSON.parse(JSON.stringify(each, (key, value: unknown) => (key === 'signal' ? undefined : value))),
        ),
      );
      return Promise.resolve(answer);
    };
  const swarm = fakeSwarm({
    leave: note(undefined),
    update: note(undefined),
    nodes: { remove: note(undefined), update: note(undefined) },
    services: { list: note([]), create: note({ ID: 'i' }), update: note({}) },
    secrets: { update: note(undefined) },
  });
  await using server = await startServer(fakePorts({ swarm }));
  const post = (path: string, body: unknown, headers = {}): Promise<unknown> =>
    server.request('POST', path, json(body, headers));
  await server.request('POST', '/swarm/leave?force=1');
  await server.request('POST', '/swarm/leave');
  await post(
    '/swarm/update?version=7&rotateWorkerToken=1&rotateManagerToken=false&rotateManagerUnlockKey=T',
    {},
  );
  await server.request('DELETE', '/nodes/n?force=true');
  await post('/nodes/n/update?version=8', { Role: 'worker', Availability: 'drain', Unknown: 1 });
  await server.request('GET', '/services?status=1');
  await server.request('GET', '/v1.40/services?status=maybe');
  await post('/services/create', { Name: 'a' }, { 'x-registry-auth': 'eyJ9' });
  await post('/v1.29/services/create', { Name: 'a' });
  await post('/services/s/update?version=9&registryAuthFrom=previous-spec&rollback=previous', { name: 'a' });
  await post('/v1.24/services/s/update?version=9&registryAuthFrom=previous-spec&rollback=previous', {});
  await post('/secrets/t/update?version=10', { Name: 'a', Labels: { b: 'c' }, Data: null });
  expect(seen).toEqual([
    [{ force: true }],
    [{ force: false }],
    [7, {}, { rotateWorkerToken: true, rotateManagerToken: false, rotateManagerUnlockKey: true }],
    ['n', { force: true }],
    ['n', 8, { Role: 'worker', Availability: 'drain' }],
    [{}, { status: true }],
    [{}, { status: false }],
    [{ Name: 'a' }, { registryAuth: 'eyJ9', pinImage: false }],
    [{ Name: 'a' }, { pinImage: true }],
    [
      's',
      { Name: 'a' },
      { pinImage: false, version: 9, registryAuthFrom: 'previous-spec', rollback: 'previous' },
    ],
    ['s', {}, { pinImage: true, version: 9, registryAuthFrom: '', rollback: '' }],
    ['t', 10, { Name: 'a', Labels: { b: 'c' } }],
  ]);
});

test('update of a service: answers its warnings, at 1.24 too, whose docker-py reads them', async () => {
  await using warning = await startServer(fakePorts({ swarm: warningSwarm() }));
  await using silent = await startServer(fakePorts({ swarm: fakeSwarm() }));
  const path = '/services/x/update?version=1';
  expect((await warning.request('POST', path, json({}))).body).toBe('{"Warnings":["w"]}\n');
  expect((await silent.request('POST', path, json({}))).body).toBe('{"Warnings":null}\n');
  expect((await warning.request('POST', `/v1.24${path}`, json({}))).body).toBe('{"Warnings":["w"]}\n');
});

function warningSwarm(): SwarmPort {
  return fakeSwarm({ services: { update: () => Promise.resolve({ Warnings: ['w'] }) } });
}

test.each(['services', 'tasks'] as const)(
  'logs of %s: their options arrive, their type is as of a container',
  async (kind) => {
    const seen: unknown[] = [];
    const port = {
      logs: (ref: string, { signal: _signal, ...options }: { signal: AbortSignal }) => {
        seen.push([ref, options]);
        return Promise.resolve({ tty: ref === 'tty', bytes: Readable.from([Buffer.from('line')]) });
      },
    };
    await using server = await startServer(fakePorts({ swarm: fakeSwarm({ [kind]: port }) }));
    const types: unknown[] = [];
    for (const path of [
      `/${kind}/x/logs?stdout=1&stderr=true&follow=1&timestamps=1&details=1&since=1.5&tail=3`,
      `/v1.41/${kind}/x/logs?stderr=1&tail=all`,
      `/${kind}/tty/logs?stdout=1`,
    ]) {
      const { headers, body } = await server.request('GET', path);
      types.push([headers['content-type'], body]);
    }
    expect(types).toEqual([
      ['application/vnd.docker.multiplexed-stream', 'line'],
      ['application/vnd.docker.raw-stream', 'line'],
      ['application/vnd.docker.raw-stream', 'line'],
    ]);
    const none = { follow: false, stdout: false, stderr: false, timestamps: false, details: false };
    expect(seen).toEqual([
      [
        'x',
        {
          follow: true,
          stdout: true,
          stderr: true,
          timestamps: true,
          details: true,
          since: 1_500_000_000n,
          tail: 3,
        },
      ],
      ['x', { ...none, stderr: true }],
      ['tty', { ...none, stdout: true }],
    ]);
  },
);

test.each([
  ['/v1.24', [{ Target: 'within' }]],
  ['/v1.25', [{ Target: 'within' }]],
  ['/v1.43', [{ Target: 'within' }]],
  ['/v1.44', [{ Target: 'within' }]],
])('networks of a service at %s: are %j', async (version, networks) => {
  expect(
    await createdAt(version, {
      TaskTemplate: { Networks: [{ Target: 'within' }] },
      Networks: [{ Target: 'beside' }],
    }),
  ).toEqual({
    TaskTemplate: { Networks: networks },
  });
});

test.each([
  ['/v1.24', { TaskTemplate: { Networks: [{ Target: 'beside' }] } }],
  ['/v1.43', { TaskTemplate: { Networks: [{ Target: 'beside' }] } }],
  ['/v1.44', {}],
])('networks beside the template at %s: %j is what arrives', async (version, spec) => {
  expect(await createdAt(version, { Networks: [{ Target: 'beside' }] })).toEqual(spec);
});

/** What a manager gets of a service. */
async function createdAt(version: string, body: unknown): Promise<ServiceSpec | undefined> {
  let seen: ServiceSpec | undefined;
  const create = (spec: ServiceSpec): Promise<{ ID: string }> => {
    seen = spec;
    return Promise.resolve({ ID: 'i' });
  };
  await using server = await startServer(fakePorts({ swarm: fakeSwarm({ services: { create } }) }));
  await server.request('POST', `${version}/services/create`, json(body));
  return seen;
}
