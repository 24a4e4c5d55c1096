import { expect, test } from 'vitest';
import { auditRecord } from '../../../daemon/boot/cluster/telling/audit-record.ts';
import { newsHappening, repositoryHappening } from '../../../daemon/boot/cluster/telling/hub-happenings.ts';
import type { AuditRecord } from '../../../daemon/hub/audit/audit-record.ts';
import type { HubNews } from '../../../daemon/hub/occurrences/news.ts';
import type { Repository } from '../../../daemon/hub/repositories/repository.ts';

const REPOSITORY: Repository = {
  id: 7,
  owner: { kind: 'user', id: 1, name: 'alice' },
  name: 'app',
  description: null,
  isPrivate: false,
  createdMs: 0,
  updatedMs: 0,
};
const ID = '0123456789abcdef0123456789abcdef';

function record(action: string, isPrivate = false): AuditRecord {
  const target = { kind: 'Repository', id: '7', name: 'alice/app', isPrivate };
  const details = { tag: 'v1', after: 'sha256:aa', digest: 'sha256:bb' };
  return { id: ID, atMs: 1_000, actor: { kind: 'root' }, action, target, details };
}

test.each([
  ['Pushed', 'v1 of alice/app is sha256:aa', 'Push'],
  ['TagDeleted', 'v1 of alice/app was deleted', 'Delete'],
  ['ManifestDeleted', 'sha256:bb of alice/app was deleted', 'Delete'],
  ['RepositoryCreated', 'repository alice/app was created', 'Create'],
  ['RepositoryDeleted', 'repository alice/app was deleted', 'Delete'],
  ['RepositoryPrivatized', 'repository alice/app is private now', 'Change'],
])('%s of a repository is an event', (action, note, did) => {
  expect(repositoryHappening(record(action), 2_000)).toMatchObject({
    id: ID,
    once: ID.slice(0, 16),
    reason: action,
    action: did,
    note,
    regarding: { kind: 'Repository', name: 'alice/app', uid: '7' },
    part: 'registry',
  });
});

test('a private repository has no name in events, and an old record, or one of something else, is none', () => {
  const told = repositoryHappening(record('Pushed', true), 2_000);
  expect(told?.regarding.name).toBe('repository-7');
  expect(JSON.stringify(told, (_, value: unknown) => String(value))).not.toContain('alice');
  expect(repositoryHappening(record('Pushed'), 3_600_000)).toBeUndefined();
  expect(repositoryHappening(record('RepositoryEdited'), 2_000)).toBeUndefined();
  const target = { kind: 'Container', id: 'c1', name: 'web' };
  expect(repositoryHappening({ ...record('Pushed'), target }, 2_000)).toBeUndefined();
});

const FAILED = { kind: 'delivery-failed', hook: 3, event: 'push', guid: 'g1', status: 'timed out' } as const;

test.each<[HubNews, object]>([
  [
    { ...FAILED, repository: REPOSITORY, occurrence: ID },
    {
      reason: 'WebhookDeliveryFailed',
      cause: ID,
      regarding: { kind: 'Webhook', name: 'alice/app/hooks/3' },
      note: 'push was not delivered by webhook 3 of alice/app: timed out',
      part: 'hooks',
    },
  ],
  [
    { ...FAILED, repository: { ...REPOSITORY, isPrivate: true }, occurrence: undefined },
    { regarding: { name: 'repository-7/hooks/3' } },
  ],
  [
    { kind: 'hook-switched-off', hook: 3, repository: REPOSITORY, failures: 5 },
    { reason: 'WebhookSwitchedOff', regarding: { name: 'alice/app/hooks/3' } },
  ],
  [
    { kind: 'limited', caller: 'user/3', limit: 'points of a minute' },
    { reason: 'RateLimited', regarding: { kind: 'Caller', name: 'user/3' }, part: 'limits' },
  ],
  [
    { kind: 'limited', caller: 'address/10.0.0.7', limit: 'requests at a time' },
    {
      regarding: { name: expect.stringMatching(/^address-[0-9a-f]{12}$/) },
      audited: { caller: 'address/10.0.0.7' },
    },
  ],
  [
    { kind: 'locked-out', name: 'user alice' },
    {
      reason: 'AuthLockout',
      regarding: { name: expect.stringMatching(/^user-[0-9a-f]{12}$/) },
      audited: { caller: 'user alice' },
    },
  ],
])('news of the hub are warnings: %j', (news, expected) => {
  const told = newsHappening(news, 5_000_000n);
  expect(told).toMatchObject({ type: 'Warning', atNano: 5_000_000n, ...expected });
});

test('an address is for root alone: in the audit, and in no event', () => {
  const told = newsHappening({ kind: 'locked-out', name: 'address 10.0.0.7' }, 5_000_000n);
  const { audited: _, ...seen } = told;
  expect(JSON.stringify(seen, (__, value: unknown) => String(value))).not.toContain('10.0.0.7');
  expect(auditRecord(told)).toMatchObject({
    id: expect.stringMatching(/^[0-9a-f]{32}$/),
    atMs: 5,
    actor: { kind: 'engine' },
    action: 'AuthLockout',
    details: { caller: 'address 10.0.0.7' },
  });
  // The hub writes that down by itself.
  expect(auditRecord(repositoryHappening(record('Pushed'), 2_000)!)).toBeUndefined();
});
