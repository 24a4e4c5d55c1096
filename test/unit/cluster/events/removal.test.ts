import { afterEach, expect, test } from 'vitest';
import { armHere } from '../../../support/fakes/failpoints.ts';
import { anEvent } from '../../../support/cluster/event.ts';
import { openEvents } from '../../../support/cluster/memory-events.ts';

const write = { fields: 'events', isDryRun: false, manager: undefined } as const;
const REMOVAL = { isDryRun: false, preconditions: { uid: '', resourceVersion: '' } } as const;

afterEach(() => armHere(''));

test('remove: an event whose removal the database refuses stays, and goes the next time', async () => {
  await using open = await openEvents();
  const made = await open.events.create(
    anEvent('kept', { metadata: { name: 'kept', namespace: 'default' } }),
    write,
  );
  armHere('database.clusterevent.remove=errno(ENOSPC)');
  await expect(open.events.remove('default', 'kept', REMOVAL)).rejects.toThrow('ENOSPC');
  expect(open.events.get('default', 'kept').revision).toBe(made.revision);
  armHere('');
  await open.events.remove('default', 'kept', REMOVAL);
  expect(() => open.events.get('default', 'kept')).toThrow('not found');
});
