import { expect, test } from 'vitest';
import { eventsOf } from '../../../../daemon/hub/deliveries/events-of.ts';
import type { Intent, News } from '../../../../daemon/hub/deliveries/intent.ts';
import { payloadOf } from '../../../../daemon/hub/deliveries/payloads/payload.ts';
import type { Hook } from '../../../../daemon/hub/hooks/hook.ts';
import type { ManifestSummary, Occurrence } from '../../../../daemon/hub/occurrences/occurrence.ts';
import { Addresses } from '../../../../daemon/hub/views/addresses.ts';
import { hasGithubSchemas, schemaProblems } from '../../../support/hub/github-schemas.ts';
import { ALICE, manifest, pushed, REPOSITORY } from '../../../support/hub/occurrences.ts';
import { BASE_URL } from '../../../support/hub/open-hub.ts';

const HOOK: Hook = {
  id: 5,
  repository: 7,
  isActive: true,
  events: ['push'],
  config: { url: 'https://example.com/hook', contentType: 'json', secret: 'word', insecureSsl: '0' },
  createdMs: 0,
  updatedMs: 0,
};
const COMMON = { atMs: 1_767_225_600_000, actor: ALICE, repository: REPOSITORY } as const;
const DEPLOYMENT = { id: 1, service: 'web', digest: 'sha256:aa', tag: 'v1', createdMs: 0 };
const PERSONAL = { ...REPOSITORY, owner: { kind: 'user', name: 'alice', id: 1 } } as const;

const occurrences: [Occurrence, string[]][] = [
  [pushed(), ['push', 'create', 'registry_package published', 'package published']],
  [
    pushed(null, manifest('b'), PERSONAL),
    ['push', 'create', 'registry_package published', 'package published'],
  ],
  [
    { ...pushed(), actor: { kind: 'root' } },
    ['push', 'create', 'registry_package published', 'package published'],
  ],
  [
    pushed(manifest('a'), { ...manifest('b'), config: null, layers: [] }),
    ['push', 'registry_package updated', 'package updated'],
  ],
  [pushed(manifest('a'), null), ['push', 'delete']],
  [{ kind: 'manifest-deleted', manifest: manifest('a'), ...COMMON }, ['package deleted']],
  [{ kind: 'pulled', manifest: manifest('a'), tag: 'v1', ...COMMON }, ['pull pulled']],
  ...(['created', 'deleted', 'edited', 'privatized', 'publicized'] as const).map(
    (action): [Occurrence, string[]] => [{ kind: 'repository', action, ...COMMON }, [`repository ${action}`]],
  ),
  [{ kind: 'deployment', deployment: DEPLOYMENT, ...COMMON }, ['deployment created']],
  ...(['pending', 'in_progress', 'success', 'failure', 'inactive'] as const).map(
    (state): [Occurrence, string[]] => [
      {
        kind: 'deployment-status',
        deployment: DEPLOYMENT,
        status: { id: 3, state, description: 'update completed' },
        ...COMMON,
      },
      ['deployment_status created'],
    ],
  ),
];

test.each(occurrences)('events of %o', (occurrence, events) => {
  expect(
    eventsOf(occurrence).map(({ event, action }) => event + (action === null ? '' : ` ${action}`)),
  ).toEqual(events);
});

/** What GitHub has no schema for. */
const OWN = new Set(['pull-pulled', 'package-deleted']);

const payloads: [string, Pick<Intent, 'event'> & { news: Exclude<News, { kind: 'again' }> }][] = [
  ['ping', { event: 'ping', news: { kind: 'ping', repository: REPOSITORY, actor: ALICE } }],
  [
    'meta-deleted',
    { event: 'meta', news: { kind: 'hook-deleted', hook: HOOK, repository: REPOSITORY, actor: ALICE } },
  ],
  ...occurrences.flatMap(([occurrence]) =>
    eventsOf(occurrence).map(({ event, action }): (typeof payloads)[number] => [
      [event.replace('_', '-'), ...(action === null ? [] : [action])].join('-'),
      { event, news: { kind: 'occurrence', occurrence } },
    ]),
  ),
];

test.runIf(hasGithubSchemas()).each(payloads)(
  'the payload of %s is as GitHub publishes it',
  (name, intent) => {
    const payload: unknown = JSON.parse(JSON.stringify(payloadOf(intent, HOOK, new Addresses(BASE_URL))));
    expect(OWN.has(name) ? [] : schemaProblems('payloads', `webhook-${name}`, payload)).toEqual([]);
    expect(payload).toMatchObject({ repository: { name: 'app' }, sender: { id: expect.any(Number) } });
    expect(JSON.stringify(payload)).not.toContain('"word"');
  },
);

function pushPayload(before: ManifestSummary | null, after: ManifestSummary | null) {
  const news = { kind: 'occurrence', occurrence: pushed(before, after) } as const;
  return payloadOf({ event: 'push', news }, HOOK, new Addresses(BASE_URL));
}

test('a push of a tag has digests where git has commits, and zeros for none', () => {
  const [a, b] = [manifest('a'), manifest('b')];
  const none = '0'.repeat(40);
  expect(pushPayload(null, a)).toMatchObject({
    before: none,
    after: a.digest,
    created: true,
    deleted: false,
    forced: false,
  });
  expect(pushPayload(a, b)).toMatchObject({
    before: a.digest,
    after: b.digest,
    created: false,
    forced: true,
  });
  expect(pushPayload(a, null)).toMatchObject({
    before: a.digest,
    after: none,
    deleted: true,
    ref: 'refs/tags/v1',
  });
});
