import { expect, test } from 'vitest';
import { hasGithubSchemas, schemaProblems } from '../../support/hub/github-schemas.ts';
import { delivered } from '../../support/hub/delivered.ts';
import { receiver } from '../../support/hub/receiver.ts';
import { servedHub } from '../../support/hub/served-hub.ts';

test.runIf(hasGithubSchemas())('each answer is as GitHub publishes it', async () => {
  await using hub = await servedHub();
  await using target = await receiver();
  const token = await hub.token('alice', 'repo', 'admin:org', 'user', 'delete_repo');
  const config = { url: target.url, content_type: 'json', secret: 'word' };
  const made = await hub.ask('POST', '/repos/acme/open/hooks', { token, body: { config, events: ['*'] } });
  const problems: string[] = schemaProblems('answers', 'hook', made.body).map((text) => `POST hook ${text}`);
  await delivered(hub, target, 1);
  const rows: readonly (readonly [string, string, string])[] = [
    ['GET', '/repos/acme/open/hooks', '[hook'],
    ['GET', '/repos/acme/open/hooks/1', 'hook'],
    ['GET', '/repos/acme/open/hooks/1/config', 'webhook-config'],
    ['GET', '/repos/acme/open/hooks/1/deliveries', '[hook-delivery-item'],
    ['GET', '/repos/acme/open/hooks/1/deliveries/1', 'hook-delivery'],
    ['GET', '/repos/acme/open/hooks/9', 'basic-error'],
    ['GET', '/repos/acme/open', 'full-repository'],
    ['GET', '/repos/acme/secret', 'full-repository'],
    ['GET', '/user/repos', '[repository'],
    ['GET', '/orgs/acme/repos', '[minimal-repository'],
    ['GET', '/users/alice/repos', '[minimal-repository'],
    ['GET', '/user', 'private-user'],
    ['GET', '/users/alice', 'public-user'],
    ['GET', '/users', '[simple-user'],
    ['GET', '/orgs/acme', 'organization-full'],
    ['GET', '/organizations', '[organization-simple'],
    ['GET', '/orgs/acme/members', '[simple-user'],
    ['GET', '/orgs/acme/memberships/bob', 'org-membership'],
    ['GET', '/rate_limit', 'rate-limit-overview'],
    ['GET', '/', 'root'],
    ['GET', '/meta', 'api-overview'],
  ];
  for (const [method, path, schema] of rows) {
    const { body } = await hub.ask(method, path, { token });
    const found = schema.startsWith('[')
      ? (Array.isArray(body) ? body : [body]).flatMap((one) =>
          schemaProblems('answers', schema.slice(1), one),
        )
      : schemaProblems('answers', schema, body);
    problems.push(...found.map((text) => `${method} ${path} ${text}`));
  }
  const refused = await hub.ask('POST', '/repos/acme/open/hooks', {
    token,
    body: { config: {}, events: [] },
  });
  expect(refused.status).toBe(422);
  problems.push(...schemaProblems('answers', 'validation-error', refused.body));
  expect(problems).toEqual([]);
});

test.runIf(hasGithubSchemas())('what is not as GitHub publishes it is seen', () => {
  expect(schemaProblems('answers', 'hook', {})).not.toEqual([]);
  expect(schemaProblems('answers', 'hook-delivery', { id: 'x' })).not.toEqual([]);
  expect(schemaProblems('payloads', 'webhook-push', { ref: 1 })).not.toEqual([]);
});
