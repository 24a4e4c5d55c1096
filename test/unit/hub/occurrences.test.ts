import { expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '../../../daemon/base/logger.ts';
import type { Account } from '../../../daemon/hub/identity/account.ts';
import type { Actor, Occurrence } from '../../../daemon/hub/occurrences/occurrence.ts';
import { LocalRecords } from '../../../daemon/hub/records/local-records.ts';
import { Mirror } from '../../../daemon/hub/records/mirror.ts';
import { Repositories } from '../../../daemon/hub/repositories/repositories.ts';
import { openDatabase } from '../../../storage/database/index.ts';
import { ManualClock } from '../../support/fakes/manual-clock.ts';

const ALICE: Account = { kind: 'user', id: 1, name: 'alice', email: null, password: null, createdMs: 0 };
const ACTOR: Actor = { kind: 'user', id: 1, name: 'alice' };

test('what happens to a repository is left in the outbox in the same update, once per action', async () => {
  const database = openDatabase(':memory:', silentLogger);
  onTestFinished(() => database.close());
  const clock = new ManualClock();
  const mirror = await Mirror.open({ records: new LocalRecords(database), clock, log: silentLogger }, '');
  const told: Occurrence[] = [];
  const repositories = new Repositories({
    mirror,
    clock,
    owner: () => ALICE,
    ownerUnchanged: (name) => ({ kind: 'check', key: `account/${name}`, expected: 0 }),
    removals: () => [],
    outbox: {
      intents: (occurrence) => {
        told.push(occurrence);
        return [{ kind: 'put', key: `intent/${told.length}`, value: occurrence.kind }];
      },
    },
  });
  const made = await repositories.create('alice', { name: 'app' }, ACTOR);
  expect([...mirror.below('intent/')]).toMatchObject([
    { revision: mirror.get('repository/alice/app')?.revision },
  ]);
  await repositories.edit(made, {}, ACTOR);
  await repositories.edit(made, { description: 'new', isPrivate: true }, ACTOR);
  await repositories.edit(made, { isPrivate: false }, { kind: 'root' });
  await repositories.remove(made, ACTOR);
  expect(told.map((one) => one.kind === 'repository' && [one.action, one.actor.kind])).toEqual([
    ['created', 'user'],
    ['edited', 'user'],
    ['privatized', 'user'],
    ['publicized', 'root'],
    ['deleted', 'user'],
  ]);
});
