import { expect, test } from 'vitest';
import { silentLogger } from '../../../../daemon/base/logger.ts';
import { HealthChecker, type HealthNews } from '../../../../daemon/cluster/targets/health/checker.ts';
import { KnownPlaces } from '../../../../daemon/cluster/targets/health/places.ts';
import type { ProbeRequest, ProbeResult } from '../../../../daemon/cluster/targets/health/probe.ts';
import { ManualClock, settled } from '../../../support/fakes/manual-clock.ts';
import { openTargets, type OpenTargets } from '../../../support/cluster/open-targets.ts';

type Probed = (request: ProbeRequest, done: (result: ProbeResult) => void) => void;

/** A checker of the groups, with checks that are made up. */
function checkerOf(open: OpenTargets, clock: ManualClock, probed: Probed, news: HealthNews[]): HealthChecker {
  const { store } = open;
  const { tables } = open.targets;
  const places = { find: () => Promise.resolve(undefined) };
  return new HealthChecker({
    store,
    tables,
    clock,
    log: silentLogger,
    places: new KnownPlaces({ tables, clock, log: silentLogger, places }),
    isOurs: () => true,
    onChange: (one) => news.push(one),
    random: () => 0,
    probe: (request, done) => {
      probed(request, done);
      return { expire: () => done('HealthCheckTimeout') };
    },
  });
}

/** A group of addresses that begin so. */
async function group(open: OpenTargets, name: string, hosts: readonly string[], healthCheck: object) {
  const body = { name, type: 'IP', config: { healthCheck } };
  const params = { group: String((await open.ask('createTargetGroup', { body }))['id']) };
  await settled();
  for (let index = 0; index < hosts.length; index += 100) {
    const targets = hosts.slice(index, index + 100).map((id) => ({ id }));
    await open.ask('registerTargets', { params, body: { targets } });
  }
}

const hosts = (first: number, count: number): string[] =>
  Array.from({ length: count }, (_none, index) => `10.${first}.${index >> 8}.${index & 255}`);

test('targets that hang for as long as they may do not keep others from their turn', async () => {
  const clock = new ManualClock();
  await using open = await openTargets({}, clock);
  const slow = { healthCheckIntervalSeconds: 5, healthCheckTimeoutSeconds: 120 };
  for (const number of [1, 2, 3]) {
    await group(open, `hang-${number}`, hosts(number, 1_000), slow);
  }
  // The last of all, whatever ids the groups have.
  await group(open, 'good', ['10.9.0.1'], { healthCheckIntervalSeconds: 5 });
  const asked = new Map<string, number>();
  using checker = checkerOf(
    open,
    clock,
    ({ host }, done) => {
      asked.set(host, (asked.get(host) ?? 0) + 1);
      if (host === '10.9.0.1') {
        queueMicrotask(() => done(undefined));
      }
    },
    [],
  );
  checker.start();
  // Three thousand, each two minutes, so many at once.
  await clock.advance(7 * 125_000);
  expect(asked.get('10.9.0.1')).toBeGreaterThan(1);
  expect(asked.size).toBe(3_001);
});

test('a target that flaps is told each time its threshold is reached, and not before', async () => {
  const clock = new ManualClock();
  await using open = await openTargets({}, clock);
  const check = { healthCheckIntervalSeconds: 5, healthyThresholdCount: 2, unhealthyThresholdCount: 3 };
  await group(open, 'web', ['10.9.0.1'], check);
  const results = '+--+---++-++'.split('');
  const news: HealthNews[] = [];
  using checker = checkerOf(
    open,
    clock,
    (_request, done) => {
      const result = results.shift();
      queueMicrotask(() => done(result === '-' ? 'HealthCheckStatusMismatch' : undefined));
    },
    news,
  );
  checker.start();
  await clock.advance(100_000);
  expect(news.map(({ health }) => health.status)).toEqual(['HEALTHY', 'UNHEALTHY', 'HEALTHY']);
  expect(news[1]?.health.reasonCode).toBe('HealthCheckStatusMismatch');
});
