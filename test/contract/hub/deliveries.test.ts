import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { hubProcess } from '../../support/hub/hub-process.ts';
import { receiver } from '../../support/hub/receiver.ts';

type Said = { description: string | null; guids: string[] };

const run = (args: string[], failpoints = ''): ReturnType<typeof hubProcess<Said>> =>
  hubProcess<Said>('deliver-and-die', args, failpoints);

/** How often the receiver gets it, where the hub is killed there. */
test.each([
  ['hub.records.update', 0],
  ['hub.records.updated', 1],
  ['hub.delivery.send', 1],
  ['hub.delivery.sent', 2],
  ['hub.delivery.log', 2],
  ['database.hubdelivery.insert', 2],
  ['hub.delivery.logged', 1],
  ['hub.delivery.removed', 1],
])('kill -9 at %s loses no delivery and changes no guid', async (failpoint, count) => {
  const folder = mkdtempSync(join(tmpdir(), 'bth-deliveries-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'hub.db');
  await using target = await receiver();
  const prepared = await run([path, 'prepare', target.url]);
  expect(prepared.said?.guids).toHaveLength(1);
  const killed = await run([path, 'act'], `${failpoint}=sigkill`);
  expect(killed.signal).toBe('SIGKILL');
  const { said } = await run([path, 'resume']);
  const got = target.received.filter(({ headers }) => headers['x-svc-event'] === 'repository');
  const guids = [...new Set(got.map(({ headers }) => headers['x-svc-delivery']))];
  expect([got.length, guids.length]).toEqual([count, Math.min(count, 1)]);
  expect(said).toEqual({
    description: count === 0 ? null : 'changed',
    guids: [...guids, ...(prepared.said?.guids ?? [])],
  });
});
