import { armHere } from '../../../support/fakes/failpoints.ts';
import { expect, onTestFinished, test } from 'vitest';
import { limits } from '../../../../daemon/base/limits.ts';
import { silentLogger } from '../../../../daemon/base/logger.ts';
import type { AuditRecord } from '../../../../daemon/hub/audit/audit-record.ts';
import { AuditTrail } from '../../../../daemon/hub/audit/audit-trail.ts';
import { occurrenceId } from '../../../../daemon/hub/occurrences/occurrence-id.ts';
import type { Occurrence } from '../../../../daemon/hub/occurrences/occurrence.ts';
import { LocalRecords } from '../../../../daemon/hub/records/local-records.ts';
import { Mirror } from '../../../../daemon/hub/records/mirror.ts';
import { openDatabase } from '../../../../storage/database/index.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';

const DAY_MS = 86_400_000;

async function rig() {
  const database = openDatabase(':memory:', silentLogger);
  onTestFinished(() => database.close());
  const clock = new ManualClock();
  const records = new LocalRecords(database);
  const mirror = await Mirror.open({ records, clock, log: silentLogger }, '');
  const told: string[] = [];
  const open = (): AuditTrail => {
    const trail = new AuditTrail({ mirror, clock, log: silentLogger, told: ({ id }) => told.push(id) });
    trail.start();
    return trail;
  };
  return { clock, mirror, told, open, nowMs: () => Number(clock.nowNano() / 1_000_000n) };
}

function aRecord(id: string, atMs: number): AuditRecord {
  const target = { kind: 'Container', id: 'c1', name: 'web' };
  return { id, atMs, actor: { kind: 'engine' }, action: 'Failed', target, details: {} };
}

const PUSH: Occurrence = {
  atMs: 1_767_225_600_000,
  actor: { kind: 'user', id: 1, name: 'alice' },
  kind: 'tag',
  repository: {
    id: 7,
    owner: { kind: 'user', id: 1, name: 'alice' },
    name: 'app',
    description: null,
    isPrivate: false,
    createdMs: 0,
    updatedMs: 0,
  },
  tag: 'v1',
  before: null,
  after: {
    digest: 'sha256:aa',
    mediaType: 'a/b',
    size: 1,
    artifactType: null,
    labels: {},
    config: null,
    layers: [],
  },
};

test('audit: what happens to a repository is written in its update, under the id that webhooks have', async () => {
  const { mirror, told, open } = await rig();
  using trail = open();
  const outbox = trail.over({ intents: () => [{ kind: 'put', key: 'intent/1', value: {} }] });
  await mirror.change(() => ({ changes: outbox.intents(PUSH), answer: undefined }));
  const id = occurrenceId(PUSH);
  expect(mirror.get(`audit/${id}`)?.revision).toBe(mirror.get('intent/1')?.revision);
  expect(trail.list(id)).toEqual([
    {
      id,
      atMs: PUSH.atMs,
      actor: PUSH.actor,
      action: 'Pushed',
      target: { kind: 'Repository', id: '7', name: 'alice/app', isPrivate: false },
      details: { tag: 'v1', after: 'sha256:aa' },
    },
  ]);
  expect(told).toEqual([id]);
  const manifest = { ...PUSH.after } as NonNullable<typeof PUSH.after>;
  const { tag: _, before: __, after: ___, ...rest } = PUSH;
  const pulled: Occurrence = { ...rest, kind: 'pulled', manifest, tag: null };
  expect(outbox.intents(pulled)).toHaveLength(1);
});

test('audit: what others tell of is written some at a time, once, and is told again after a start', async () => {
  const { clock, told, open, nowMs } = await rig();
  using trail = open();
  const added = ['a', 'b', 'a'].map((id, index) => trail.add(aRecord(id, nowMs() + index)));
  await clock.advance(limits.hubAuditPaceMs);
  await Promise.all(added);
  await trail.add(aRecord('b', 0));
  expect(trail.list().map(({ id }) => id)).toEqual(['a', 'b']);
  expect(told.toSorted()).toEqual(['a', 'b']);
  using next = open();
  expect(next.recent().map(({ id }) => id)).toEqual(['b', 'a']);
  expect(told).toHaveLength(4);
});

test('audit: what cannot be written is told to who tells it, and the next is written', async () => {
  const { clock, open, nowMs } = await rig();
  using trail = open();
  armHere('hub.audit.add=error(no)');
  const refused = trail.add(aRecord('a', nowMs()));
  const heard = expect(refused).rejects.toThrow('no');
  await clock.advance(limits.hubAuditPaceMs);
  await heard;
  armHere('');
  const next = trail.add(aRecord('b', nowMs()));
  await clock.advance(limits.hubAuditPaceMs);
  await next;
  expect(trail.list().map(({ id }) => id)).toEqual(['b']);
});

test('audit: too many at a time are refused', async () => {
  const { open } = await rig();
  const trail = open();
  const waiting = Array.from({ length: limits.hubAuditWaitingMax }, (_, index) =>
    trail.add(aRecord(`r${index}`, 0)).catch(() => 'gone'),
  );
  await expect(trail.add(aRecord('one-more', 0))).rejects.toThrow('too much is to be written down');
  trail[Symbol.dispose]();
  expect(new Set(await Promise.all(waiting))).toEqual(new Set(['gone']));
});

test('audit: the old go with their time, also after a sweep that failed', async () => {
  const { clock, mirror, open, nowMs } = await rig();
  using trail = open();
  const now = nowMs();
  const old = aRecord('old', now - limits.hubAuditDays * DAY_MS - 1);
  await mirror.change(() => ({
    changes: [old, aRecord('new', now)].map((value) => ({ kind: 'put', key: `audit/${value.id}`, value })),
    answer: undefined,
  }));
  armHere('hub.audit.sweep=error(no)');
  await clock.advance(limits.hubAuditSweepMs);
  expect(trail.list()).toHaveLength(2);
  armHere('');
  await clock.advance(limits.hubAuditSweepMs);
  expect(trail.list().map(({ id }) => id)).toEqual(['new']);
});

test('audit: of too many the oldest go', async () => {
  const { clock, mirror, open, nowMs } = await rig();
  using trail = open();
  const now = nowMs();
  const count = limits.hubAuditMax + 150;
  for (let from = 0; from < count; from += 1_000) {
    await mirror.change(() => ({
      changes: Array.from({ length: Math.min(1_000, count - from) }, (_, index) => {
        const value = aRecord(`r${from + index}`, now + from + index);
        return { kind: 'put', key: `audit/${value.id}`, value };
      }),
      answer: undefined,
    }));
  }
  for (let turn = 0; turn < 20 && trail.list().length > limits.hubAuditMax; turn += 1) {
    await clock.advance(1);
  }
  const left = trail.list();
  expect(left).toHaveLength(limits.hubAuditMax);
  expect(left.at(-1)?.id).toBe('r150');
});
