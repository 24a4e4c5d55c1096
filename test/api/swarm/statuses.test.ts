import { expect, test } from 'vitest';
import {
  EngineError,
  conflict,
  invalidArgument,
  notFound,
  notImplemented,
} from '../../../daemon/base/errors.ts';
import { ROUTES } from '../../../api/routes/index.ts';
import { startServer } from '../../support/api/api-server.ts';
import { fakePorts } from '../../support/api/fake-ports.ts';
import { SWARM, fakeSwarm } from '../../support/api/fake-swarm.ts';

const JSON_TYPE = { 'content-type': 'application/json' };

/** Every operation, with the least that it needs. */
const OPERATIONS = [
  ['POST', '/swarm/init', '{}'],
  ['POST', '/swarm/join', '{}'],
  ['POST', '/swarm/leave?force=1', ''],
  ['GET', '/swarm', ''],
  ['POST', '/swarm/update?version=1', '{}'],
  ['GET', '/swarm/unlockkey', ''],
  ['POST', '/swarm/unlock', '{"UnlockKey":"k"}'],
  ['GET', '/nodes', ''],
  ['GET', '/nodes/x', ''],
  ['POST', '/nodes/x/update?version=1', '{}'],
  ['DELETE', '/nodes/x?force=1', ''],
  ['GET', '/services', ''],
  ['POST', '/services/create', '{}'],
  ['GET', '/services/x', ''],
  ['POST', '/services/x/update?version=1', '{}'],
  ['DELETE', '/services/x', ''],
  ['GET', '/services/x/logs?stdout=1', ''],
  ['GET', '/tasks', ''],
  ['GET', '/tasks/x', ''],
  ['GET', '/tasks/x/logs?stderr=1', ''],
  ['GET', '/secrets', ''],
  ['POST', '/secrets/create', '{}'],
  ['GET', '/secrets/x', ''],
  ['POST', '/secrets/x/update?version=1', '{}'],
  ['DELETE', '/secrets/x', ''],
  ['GET', '/configs', ''],
  ['POST', '/configs/create', '{}'],
  ['GET', '/configs/x', ''],
  ['POST', '/configs/x/update?version=1', '{}'],
  ['DELETE', '/configs/x', ''],
] as const;

const optionsOf = (body: string): object => (body === '' ? {} : { headers: JSON_TYPE, body });

test('statuses: are those of dockerd, under every version', async () => {
  await using server = await startServer(fakePorts({ swarm: fakeSwarm() }));
  const lines: string[] = [];
  for (const [method, path, body] of OPERATIONS) {
    const [newest, oldest] = [
      await server.request(method, path, optionsOf(body)),
      await server.request(method, `/v1.24${path}`, optionsOf(body)),
    ];
    expect(oldest.status).toBe(newest.status);
    const isLong = newest.body.length > 60;
    lines.push(`${method} ${path}: ${newest.status} ${isLong ? '...' : newest.body.trim()}`.trim());
  }
  expect(lines).toMatchInlineSnapshot(`
    [
      "POST /swarm/init: 200 "9mnpnzenvg8p8tdbtq4wvbkcz"",
      "POST /swarm/join: 200",
      "POST /swarm/leave?force=1: 200",
      "GET /swarm: 200 ...",
      "POST /swarm/update?version=1: 200",
      "GET /swarm/unlockkey: 200 {"UnlockKey":""}",
      "POST /swarm/unlock: 200",
      "GET /nodes: 200 ...",
      "GET /nodes/x: 200 ...",
      "POST /nodes/x/update?version=1: 200",
      "DELETE /nodes/x?force=1: 200",
      "GET /services: 200 ...",
      "POST /services/create: 201 {"ID":"9mnpnzenvg8p8tdbtq4wvbkcz","Warnings":["w"]}",
      "GET /services/x: 200 ...",
      "POST /services/x/update?version=1: 200 {"Warnings":null}",
      "DELETE /services/x: 200",
      "GET /services/x/logs?stdout=1: 200 frames",
      "GET /tasks: 200 ...",
      "GET /tasks/x: 200 ...",
      "GET /tasks/x/logs?stderr=1: 200 frames",
      "GET /secrets: 200 ...",
      "POST /secrets/create: 201 {"ID":"9mnpnzenvg8p8tdbtq4wvbkcz"}",
      "GET /secrets/x: 200 ...",
      "POST /secrets/x/update?version=1: 200",
      "DELETE /secrets/x: 204",
      "GET /configs: 200 ...",
      "POST /configs/create: 201 {"ID":"9mnpnzenvg8p8tdbtq4wvbkcz"}",
      "GET /configs/x: 200 ...",
      "POST /configs/x/update?version=1: 200",
      "DELETE /configs/x: 204",
    ]
  `);
});

test('the list above has every operation', () => {
  const known = ROUTES.filter(({ path }) => /^\/(swarm|nodes|services|tasks|secrets|configs)\b/.test(path));
  const listed = OPERATIONS.map(
    ([method, path]) => `${method} ${path.replace(/\?.*/, '').replace('/x', '/:id')}`,
  );
  expect(listed.toSorted()).toEqual(known.map(({ method, path }) => `${method} ${path}`).toSorted());
});

test('init: answers the id of the node as a bare JSON string', async () => {
  await using server = await startServer(fakePorts({ swarm: fakeSwarm() }));
  const answer = await server.request('POST', '/swarm/init', optionsOf('{"ListenAddr":"0.0.0.0:2377"}'));
  expect(answer).toMatchObject({
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: `"${SWARM.ID}"\n`,
  });
});

test.each(OPERATIONS)(
  'outside of a swarm: %s %s is 503, and 406 to clients of 1.24',
  async (method, path, body) => {
    await using server = await startServer();
    const statuses: number[] = [];
    for (const version of ['', '/v1.25', '/v1.24']) {
      statuses.push((await server.request(method, `${version}${path}`, optionsOf(body))).status);
    }
    const isBeginning = path === '/swarm/init' || path === '/swarm/join';
    expect(statuses).toEqual(isBeginning ? [501, 501, 501] : [503, 503, 406]);
  },
);

test.each([
  [invalidArgument('rpc error: code = InvalidArgument desc = a'), 400],
  [new EngineError('unauthorized', 'rpc error: code = Unauthenticated desc = a'), 401],
  [new EngineError('forbidden', 'The network n cannot be used with services.'), 403],
  [notFound('service x not found'), 404],
  [conflict('rpc error: code = AlreadyExists desc = a'), 409],
  [new EngineError('failed_precondition', 'rpc error: code = Unknown desc = update out of sequence'), 500],
  [notImplemented('rpc error: code = Unimplemented desc = renaming services is not supported'), 501],
  [new EngineError('unavailable', 'This node is not a swarm manager.'), 503],
])('an error of a manager: %s is %i, and its text is whole', async (error, status) => {
  const update = async (): Promise<never> => {
    throw error;
  };
  await using server = await startServer(fakePorts({ swarm: fakeSwarm({ services: { update } }) }));
  const answer = await server.request('POST', '/services/x/update?version=1', optionsOf('{}'));
  expect(answer).toMatchObject({ status, body: `${JSON.stringify({ message: error.message })}\n` });
});

test.each(['inactive', 'pending', 'error', 'locked', 'active/worker', 'active/manager'] as const)(
  '_ping: says %s under every version',
  async (role) => {
    await using server = await startServer(fakePorts({ swarm: fakeSwarm({ role }) }));
    for (const path of ['/_ping', '/v1.24/_ping', '/v1.30/_ping', '/v1.44/_ping']) {
      for (const method of ['GET', 'HEAD']) {
        expect((await server.request(method, path)).headers).toMatchObject({ swarm: role });
      }
    }
  },
);
