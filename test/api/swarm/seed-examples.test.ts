import { expect, test } from 'vitest';
import { EngineError, conflict, failedPrecondition, notFound } from '../../../daemon/base/errors.ts';
import { startServer } from '../../support/api/api-server.ts';
import { fakePorts } from '../../support/api/fake-ports.ts';
import { fakeSwarm } from '../../support/api/fake-swarm.ts';
import { compareShape } from '../../support/api/seed-shapes.ts';
import { SEED_QUERIES, SEED_REQUESTS } from '../../support/api/seed-swarm.ts';

const JSON_TYPE = { 'content-type': 'application/json' };

test.each(SEED_REQUESTS)('v1.24: $what: $path', async ({ path, sent, status, answer, taken }) => {
  const seen: unknown[] = [];
  const swarm = fakeSwarm({
    update: (_version, spec) => {
      seen.push(spec);
      return Promise.resolve();
    },
    services: {
      create: (spec) => {
        seen.push(spec);
        return Promise.resolve({ ID: '9mnpnzenvg8p8tdbtq4wvbkcz', Warnings: ['later versions only'] });
      },
      update: (_ref, spec) => {
        seen.push(spec);
        return Promise.resolve({});
      },
    },
  });
  await using server = await startServer(fakePorts({ swarm }));
  const body = JSON.stringify(sent);
  expect(await server.request('POST', path, { headers: JSON_TYPE, body })).toMatchObject({
    status,
    body: answer,
  });
  expect(seen).toEqual([taken]);
});

test.each(SEED_QUERIES)(
  'v1.24: $method $path: answers as the document says',
  async ({ method, path, shape }) => {
    await using server = await startServer(fakePorts({ swarm: fakeSwarm() }));
    const { status, body } = await server.request(method, path);
    expect(status).toBe(200);
    expect(shape === undefined ? [body] : compareShape(shape, JSON.parse(body))).toEqual(
      shape === undefined ? [''] : [],
    );
  },
);

test.each([
  [new EngineError('forbidden', 'network n is not eligible'), 403],
  [new EngineError('unavailable', 'This node is not a swarm manager.'), 406],
  [conflict('name conflicts with an existing object'), 409],
  [failedPrecondition('rpc error'), 500],
])('v1.24: creating a service where %s: is %i', async (error, status) => {
  const create = async (): Promise<never> => {
    throw error;
  };
  await using server = await startServer(fakePorts({ swarm: fakeSwarm({ services: { create } }) }));
  const answer = await server.request('POST', '/v1.24/services/create', { headers: JSON_TYPE, body: '{}' });
  expect(answer).toMatchObject({ status, body: `${JSON.stringify({ message: error.message })}\n` });
});

test.each(['/v1.24/services/x', '/v1.24/tasks/x'])(
  'v1.24: GET %s: is 404 for one that is not there',
  async (path) => {
    await using server = await startServer(
      fakePorts({ swarm: fakeSwarm({ services: { inspect }, tasks: { inspect } }) }),
    );
    expect((await server.request('GET', path)).status).toBe(404);
  },
);

async function inspect(ref: string): Promise<never> {
  throw notFound(`${ref} not found`);
}
