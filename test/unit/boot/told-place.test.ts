import { armHere } from '../../support/fakes/failpoints.ts';
import { expect, test } from 'vitest';
import { withResolvers } from '../../../daemon/base/concurrency/with-resolvers.ts';
import { limits } from '../../../daemon/base/limits.ts';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { ToldPlace } from '../../../daemon/boot/cluster/telling/told-place.ts';
import { ManualClock } from '../../support/fakes/manual-clock.ts';

function rig() {
  const rows = new Map<string, string>();
  const clock = new ManualClock();
  const meta = {
    get: (key: string) => rows.get(key),
    set: (key: string, value: string) => void rows.set(key, value),
  };
  const open = (): ToldPlace => new ToldPlace({ meta, clock, log: silentLogger });
  return { clock, open };
}

test('what was told: the next daemon goes on at the first that was not told to its end', async () => {
  const { clock, open } = rig();
  const start = clock.nowNano();
  const first = withResolvers<void>();
  using place = open();
  const telling = place.tell(start + 10n, first.promise);
  await place.tell(start + 20n, Promise.resolve());
  place.pass(start + 30n);
  await clock.advance(limits.clusterToldPaceMs);
  expect(open().since).toBe(start + 10n);
  first.resolve();
  await telling;
  await clock.advance(limits.clusterToldPaceMs);
  expect(open().since).toBe(start + 31n);
});

test('what was told: a first daemon begins with now, and none further back than some minutes', async () => {
  const { clock, open } = rig();
  const start = clock.nowNano();
  {
    using place = open();
    expect(place.since).toBeGreaterThan(start);
    place.pass(clock.nowNano());
  }
  await clock.advance(limits.clusterToldAgainMs * 2);
  expect(Number(open().since - start)).toBeGreaterThan(limits.clusterToldAgainMs * 900_000);
});

test('what was told: a disk that takes nothing costs nothing but telling again', async () => {
  const { clock, open } = rig();
  using place = open();
  armHere('cluster.events.told=error(full)');
  place.pass(clock.nowNano() + 5n);
  await clock.advance(limits.clusterToldPaceMs);
  armHere('');
  const at = clock.nowNano() + 9n;
  place.pass(at);
  await clock.advance(limits.clusterToldPaceMs);
  expect(open().since).toBe(at + 1n);
});
