import { expect, test } from 'vitest';
import { describeEngine, onReference } from '../../support/engine/engine.ts';

const NO_MANAGER =
  'This node is not a swarm manager. Use "docker swarm init" or "docker swarm join" to connect this node to swarm ' +
  'and try again.';
const NO_PART = 'This node is not part of a swarm';
const DOWNGRADE = 'cannot downgrade network scope for overlay networks';
const LOCAL_INGRESS = 'Ingress network can only be global scope network';
const NO_SWARM_SCOPE = 'cannot create a swarm scoped network when swarm is not active';
const noNumber = (text: string): string =>
  `strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`;
const NO_BOOL = 'maybe: strconv.ParseBool: parsing "maybe": invalid syntax';

/** What is wrong with a request comes before what is wrong with the node. */
const REFUSALS: readonly [method: string, path: string, body: unknown, status: number, message: string][] = [
  ['GET', '/swarm', undefined, 503, NO_MANAGER],
  ['POST', '/swarm/leave', undefined, 503, NO_PART],
  ['POST', '/swarm/update', {}, 400, `invalid swarm version '': ${noNumber('')}`],
  ['POST', '/swarm/update?version=x', {}, 400, `invalid swarm version 'x': ${noNumber('x')}`],
  [
    'POST',
    '/swarm/update?version=1&rotateWorkerToken=yes',
    {},
    400,
    'invalid value for rotateWorkerToken: yes',
  ],
  ['POST', '/swarm/update?version=1', {}, 503, NO_MANAGER],
  ['GET', '/swarm/unlockkey', undefined, 503, NO_MANAGER],
  ['POST', '/swarm/unlock', { UnlockKey: 'SWMKEY-1-a' }, 503, NO_MANAGER],
  ['GET', '/nodes', undefined, 503, NO_MANAGER],
  ['GET', '/nodes/x', undefined, 503, NO_MANAGER],
  ['DELETE', '/nodes/x', undefined, 503, NO_MANAGER],
  ['POST', '/nodes/x/update?version=-1', {}, 400, `invalid node version '-1': ${noNumber('-1')}`],
  ['GET', '/services', undefined, 503, NO_MANAGER],
  ['GET', '/services?status=maybe', undefined, 400, `invalid value for status: ${NO_BOOL}`],
  ['GET', '/services/x', undefined, 503, NO_MANAGER],
  ['GET', '/services/x?insertDefaults=maybe', undefined, 400, `invalid value for insertDefaults: ${NO_BOOL}`],
  ['POST', '/services/create', {}, 503, NO_MANAGER],
  ['POST', '/services/x/update', {}, 400, `invalid service version '': ${noNumber('')}`],
  ['DELETE', '/services/x', undefined, 503, NO_MANAGER],
  ['GET', '/services/x/logs?stdout=1', undefined, 503, NO_MANAGER],
  ['GET', '/tasks', undefined, 503, NO_MANAGER],
  ['GET', '/tasks/x', undefined, 503, NO_MANAGER],
  ['GET', '/tasks/x/logs?stderr=1', undefined, 503, NO_MANAGER],
  ['GET', '/secrets', undefined, 503, NO_MANAGER],
  ['GET', '/secrets/x', undefined, 503, NO_MANAGER],
  ['POST', '/secrets/create', { Name: 'a', Data: 'YQ==' }, 503, NO_MANAGER],
  ['POST', '/secrets/x/update', {}, 400, 'invalid secret version'],
  ['DELETE', '/secrets/x', undefined, 503, NO_MANAGER],
  ['GET', '/configs', undefined, 503, NO_MANAGER],
  ['POST', '/configs/create', { Name: 'a', Data: 'YQ==' }, 503, NO_MANAGER],
  ['POST', '/configs/x/update', {}, 400, 'invalid config version'],
  ['DELETE', '/configs/x', undefined, 503, NO_MANAGER],
  ['POST', '/networks/create', { Name: 'x', Driver: 'overlay', Scope: 'local' }, 403, DOWNGRADE],
  ['POST', '/networks/create', { Name: 'x', Scope: 'swarm' }, 403, NO_SWARM_SCOPE],
  ['POST', '/networks/create', { Name: 'x', Ingress: true }, 403, LOCAL_INGRESS],
];

describeEngine('operations of the swarm on a node that is in none', (engine) => {
  test.each(REFUSALS)('%s %s %j: is %i', async (method, path, body, status, message) => {
    const answer = await engine.http.request(method, path, body === undefined ? {} : { body });
    // Every error body is {message}.
    expect([answer.status, (answer.json as { message: string }).message]).toEqual([status, message]);
  });

  test('an overlay network needs a manager', async () => {
    const answer = await engine.http.request('POST', '/networks/create', {
      body: { Name: 'x', Driver: 'overlay' },
    });
    // Every error body is {message}.
    expect((answer.json as { message: string }).message).toBe(NO_MANAGER);
    // dockerd of that time says 500, here alone.
    expect(answer.status).toBe(onReference ? 500 : 503);
  });

  // 500 in dockerd of that time.
  test.runIf(!onReference).each(['services', 'tasks'])('logs of %s: neither stream is 400', async (kind) => {
    const { status } = await engine.http.request('GET', `/${kind}/x/logs`);
    expect(status).toBe(400);
  });
});
