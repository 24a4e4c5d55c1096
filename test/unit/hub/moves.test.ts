import { armHere } from '../../support/fakes/failpoints.ts';
import { expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { LocalRecords } from '../../../daemon/hub/records/local-records.ts';
import { LocalSet } from '../../../daemon/hub/records/move/local-set.ts';
import { moveIn } from '../../../daemon/hub/records/move/move-in.ts';
import { moveOut } from '../../../daemon/hub/records/move/move-out.ts';
import { allOf, ORIGIN } from '../../../daemon/hub/records/move/origin.ts';
import { openDatabase } from '../../../storage/database/index.ts';

const OWN = [
  { key: 'account/alice', value: { id: 1 } },
  { key: 'counter/account', value: { last: 1 } },
  { key: 'repository/alice/app', value: { id: 1 } },
];

/** A host and the records of its swarm; both are SQLite's, which keep the contract that those of a swarm keep. */
function rig() {
  const databases = [':memory:', ':memory:'].map((file) => openDatabase(file, silentLogger));
  onTestFinished(() => databases.forEach((database) => database.close()));
  const [own, ofSwarm] = databases as [(typeof databases)[0], (typeof databases)[0]];
  const local = new LocalSet(own);
  const shared = new LocalRecords(ofSwarm);
  const done = { brought: 0, aside: [] as unknown[], taken: 0 };
  const given = { local, shared, node: 'n1', cluster: 'c1', log: silentLogger };
  return {
    local,
    shared,
    done,
    records: new LocalRecords(own),
    into: () =>
      moveIn({
        ...given,
        isNode: (node) => node === 'n1',
        bring: () => {
          done.brought += 1;
          return Promise.resolve();
        },
      }),
    out: () =>
      moveOut({
        ...given,
        saveAside: (records) => {
          done.aside = [...records];
          return Promise.resolve();
        },
        take: () => {
          done.taken += 1;
        },
      }),
  };
}

test.each([
  'hub.move.begun',
  'hub.move.claimed',
  'hub.move.copied',
  'hub.move.brought',
  'hub.move.whole',
  'hub.move.clear',
  'hub.move.cleared',
])('moved in: one that ends at %s is ended by the next, and nothing is lost', async (step) => {
  const host = rig();
  await host.records.update(OWN.map((record) => ({ kind: 'put', ...record })));
  armHere(`${step}=error`);
  await expect(host.into()).rejects.toThrow(step);
  // One of both sides has all.
  const kept = [...host.local.below('')];
  expect(kept.length === OWN.length ? kept : await allOf(host.shared)).toEqual(OWN);
  armHere('');
  await host.into();
  expect(await allOf(host.shared)).toEqual(OWN);
  expect([...host.local.below('')]).toEqual(OWN.filter(({ key }) => key.startsWith('counter/')));
  expect(host.done.brought).toBeGreaterThan(0);
});

test('moved in: what a node that is gone has half brought in is forgotten, also in two attempts', async () => {
  const host = rig();
  await host.records.update(OWN.map((record) => ({ kind: 'put', ...record })));
  await host.shared.update([
    { kind: 'put', key: ORIGIN, value: { node: 'gone', move: 'm', isWhole: false } },
    { kind: 'put', key: 'account/bob', value: { id: 1 } },
  ]);
  armHere('hub.move.forgotten=error');
  await expect(host.into()).rejects.toThrow('hub.move.forgotten');
  armHere('');
  await host.into();
  expect(await allOf(host.shared)).toEqual(OWN);
});

test.each(['hub.move.saved', 'hub.move.taken', 'hub.move.replace', 'hub.move.out'])(
  'moved out: one that ends at %s is ended by the next, and what the host had is aside',
  async (step) => {
    const host = rig();
    const theirs = [{ key: 'account/bob', value: { id: 7 } }];
    await host.records.update(OWN.map((record) => ({ kind: 'put', ...record })));
    await host.shared.update([
      { kind: 'put', key: ORIGIN, value: { node: 'n2', move: 'm', isWhole: true } },
      ...theirs.map((record) => ({ kind: 'put' as const, ...record })),
    ]);
    armHere(`${step}=error`);
    await expect(host.out()).rejects.toThrow(step);
    armHere('');
    expect(await host.out()).toBe(theirs.length);
    expect([...host.local.below('')]).toEqual(theirs);
    expect(host.done.aside).toEqual(OWN);
    expect(host.done.taken).toBeGreaterThan(0);
  },
);
