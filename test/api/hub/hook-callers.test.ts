import { expect, test } from 'vitest';
import { limits } from '../../../daemon/base/limits.ts';
import { wrong, type CallerOf } from '../../support/hub/endpoints/callers.ts';
import { endpointPage } from '../../support/hub/endpoints/page.ts';
import {
  CALLERS,
  ENDPOINTS,
  messageOf,
  STATES,
  statusOf,
  type Endpoint,
  type Row,
} from '../../support/hub/endpoints/endpoints.ts';
import { hasGithubSchemas, schemaProblems } from '../../support/hub/github-schemas.ts';
import { delivered } from '../../support/hub/delivered.ts';
import { receiver } from '../../support/hub/receiver.ts';
import type { HubAnswer } from '../../support/hub/serve-hub.ts';
import { servedHub } from '../../support/hub/served-hub.ts';

type Hub = Awaited<ReturnType<typeof servedHub>>;

const hasSchemas = hasGithubSchemas();

test('hub-endpoints.md shows what is expected here', async () => {
  await expect(endpointPage()).toMatchFileSnapshot('../../hub-endpoints.md');
});

test.each(Object.entries(CALLERS))('endpoints 1 to 12: %s', async (_, row) => {
  await using hub = await servedHub();
  await using target = await receiver();
  const caller = await row.caller(hub);
  const isWrong = row.caller === wrong;
  const hooks = {
    open: await hookOf(hub, 'open', target.url),
    secret: await hookOf(hub, 'secret', target.url),
  };
  // The ping of each is its first delivery.
  await delivered(hub, target, 2);
  for (const state of STATES) {
    const ids = state === 'nothing' ? { id: 1, delivery: 1 } : idsOf(hub, state, hooks[state].id);
    for (const endpoint of ENDPOINTS) {
      // Wrong credentials that come often are locked out for a while.
      await hub.clock.advance(isWrong ? limits.hubBadCredentialsWithinMs : 0);
      const below = endpoint.path.replace('ID', String(ids.id)).replace('DELIVERY', String(ids.delivery));
      const path = `/repos/acme/${state}/hooks${below}`;
      const { method, body } = endpoint;
      const answer = await hub.ask(method, path, { ...caller.ask, ...(body && { body }) });
      expect([method, path, answer.status]).toEqual([method, path, statusOf(row, state, endpoint)]);
      expectBody(answer, endpoint, row);
    }
  }
});

function idsOf({ root: { deliveries } }: Hub, repository: string, id: number) {
  const request = { perPage: 1, cursor: undefined, status: undefined };
  const [first] = deliveries.list('acme', repository, id, request).items;
  return { id, delivery: first?.id ?? 0 };
}

function expectBody({ status, body }: HubAnswer, { schema, need }: Endpoint, row: Row): void {
  if (status >= 400) {
    expectError(body, status, messageOf(row, status, need));
  } else if (schema === undefined || schema === '{}') {
    expect(body).toEqual(schema === undefined ? undefined : {});
  } else {
    const list: unknown[] = Array.isArray(body) ? body : [body];
    expect(Array.isArray(body)).toBe(schema.startsWith('['));
    expect(list.flatMap((one) => problemsOf(schema.replace('[', ''), one))).toEqual([]);
  }
}

function expectError(body: unknown, status: number, message: string): void {
  expect(body).toEqual({ message, status: String(status), documentation_url: expect.any(String) });
  expect(problemsOf('basic-error', body)).toEqual([]);
}

function problemsOf(schema: string, value: unknown): string[] {
  return hasSchemas ? schemaProblems('answers', schema, value) : [];
}

test.each(Object.entries(CALLERS))('endpoint 13, the check of a token: %s', async (_, row) => {
  await using hub = await servedHub();
  const caller = await row.caller(hub);
  const { clientId, token } = caller.own ?? (await otherApplication(hub));
  const check = async (id: string, secret: string): Promise<HubAnswer> =>
    await hub.ask('POST', `/applications/${id}/token`, { ...caller.ask, body: { access_token: secret } });
  const answer = await check(clientId, token);
  if (caller.own === undefined) {
    const message = 'Requires authentication by client id and client secret';
    expect(answer.status).toBe(401);
    expectError(answer.body, 401, row.caller === wrong ? 'Bad credentials' : message);
    return;
  }
  expect(answer).toMatchObject({ status: 200, body: { token, scopes: ['repo'], user: { login: 'bob' } } });
  expect(problemsOf('authorization', answer.body)).toEqual([]);
  const other = await otherApplication(hub);
  for (const [id, secret] of [
    [clientId, 'bho_none'],
    [clientId, other.token],
    [other.clientId, other.token],
  ] as const) {
    const refused = await check(id, secret);
    expect(refused.status).toBe(404);
    expectError(refused.body, 404, 'Not Found');
  }
});

test.each(Object.entries(CALLERS))('endpoint 14, what is left of the hour: %s', async (_, row) => {
  await using hub = await servedHub();
  const caller: CallerOf = await row.caller(hub);
  const before = await hub.ask('GET', '/rate_limit', caller.ask);
  if (row.perHour === undefined) {
    const isWrong = row.caller === wrong;
    const status = isWrong ? 401 : 404;
    const message = isWrong ? 'Bad credentials' : 'Rate limiting is not enabled.';
    expect(before.status).toBe(status);
    expectError(before.body, status, message);
    return;
  }
  expect(before.status).toBe(200);
  expect(problemsOf('rate-limit-overview', before.body)).toEqual([]);
  expect(core(before)['limit']).toBe(row.perHour);
  await hub.ask('GET', '/repos/acme/open', caller.ask);
  const after = await hub.ask('GET', '/rate_limit', caller.ask);
  expect(core(after)['used']).toBe((core(before)['used'] ?? 0) + 1);
  expect(after.headers['x-ratelimit-limit']).toBe(String(row.perHour));
});

function core({ body }: HubAnswer): Record<string, number> {
  return Object(body).resources.core;
}

function hookOf({ root: { hooks } }: Hub, repository: string, url: string) {
  return hooks.create('acme', repository, { config: { url } });
}

async function otherApplication({ root: { applications } }: Hub) {
  const { client_id: clientId } = await applications.createOAuthApp({ name: 'Other', owner: 'alice' });
  const { token } = await applications.mint(clientId, 'bob', []);
  return { clientId, token };
}
