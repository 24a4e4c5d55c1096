import { armHere } from '../../support/fakes/failpoints.ts';
import { expect, onTestFinished, test } from 'vitest';
import { limits } from '../../../daemon/base/limits.ts';
import { silentLogger } from '../../../daemon/base/logger.ts';
import type { Caller } from '../../../daemon/hub/identity/caller.ts';
import { Lockout } from '../../../daemon/hub/identity/lockout.ts';
import { KeptCounts } from '../../../daemon/hub/limits/kept-counts.ts';
import type { RateFacts } from '../../../daemon/hub/limits/quotas.ts';
import { RateLimits } from '../../../daemon/hub/limits/rate-limits.ts';
import { RegistryLimits } from '../../../daemon/hub/limits/registry-limits.ts';
import { ShortCounts } from '../../../daemon/hub/limits/short-counts.ts';
import { DEFAULT_RULES, type RateRules } from '../../../daemon/hub/limits/rules.ts';
import { Windows } from '../../../daemon/hub/limits/windows.ts';
import { LocalRecords } from '../../../daemon/hub/records/local-records.ts';
import { openDatabase } from '../../../storage/database/index.ts';
import { ManualClock, settled } from '../../support/fakes/manual-clock.ts';

const READ = { operation: 'repository.get', method: 'GET', isContent: false, isFree: false };
const MAKE = { operation: 'repository.create', method: 'POST', isContent: true, isFree: false };

const FACTS: RateFacts = {
  isEnterprise: () => false,
  isMember: () => false,
  sizeOf: () => ({ repositories: 1, users: 1 }),
  ownerOf: () => undefined,
};

/** Of a manager. */
const shortOf = (clock: ManualClock): ShortCounts =>
  new ShortCounts(() => Number(clock.nowNano() / 1_000_000n));

function rig(rules: Partial<RateRules> = {}) {
  const clock = new ManualClock();
  const short = shortOf(clock);
  const rates = new RateLimits({ rules: { ...DEFAULT_RULES, ...rules }, facts: FACTS, clock, short });
  const read = (caller = ADDRESS, request = READ): void => rates.admit(caller, request).done(false);
  return { clock, rates, read };
}

const ADDRESS: Caller = { kind: 'anonymous', address: '192.0.2.1' };

function user(id: number): Caller {
  const account = { kind: 'user', id, name: `u${id}`, email: null, password: null, createdMs: 0 } as const;
  const token = {
    kind: 'classic',
    id,
    hash: '',
    lastEight: '',
    note: '',
    user: account,
    createdMs: 0,
    expiresMs: null,
    lastUsedMs: null,
    scopes: [],
  } as const;
  return { kind: 'user', user: account, token };
}

test('without credentials there are 60 an hour for each address, with them 5,000 for each user', () => {
  const { rates, read } = rig({ pointsPerMinute: 0 });
  for (let count = 0; count < 60; count += 1) {
    read();
  }
  expect(rates.status(ADDRESS)).toMatchObject({ limit: 60, used: 60, remaining: 0 });
  expect(() => read()).toThrow('API rate limit exceeded for 192.0.2.1.');
  read({ kind: 'anonymous', address: '192.0.2.2' });
  for (let count = 0; count < 5_000; count += 1) {
    read(user(1));
  }
  expect(() => read(user(1))).toThrow('API rate limit exceeded for user ID 1.');
  read(user(2));
  for (let count = 0; count < 10_000; count += 1) {
    read({ kind: 'root' });
  }
});

test('an hour begins with its first request, and ends whole', async () => {
  const { clock, rates, read } = rig({ anonymousPerHour: 2 });
  const start = Number(clock.nowNano() / 1_000_000_000n);
  read();
  await clock.advance(3_599_000);
  read();
  expect(rates.status(ADDRESS)).toEqual({ limit: 2, used: 2, remaining: 0, reset: start + 3_600 });
  expect(() => read()).toThrow('exceeded');
  await clock.advance(2_000);
  read();
  expect(rates.status(ADDRESS)).toMatchObject({ used: 1, remaining: 1 });
});

test('to ask for the limits, and what has not changed, costs nothing of the hour', () => {
  const { rates, read } = rig({ anonymousPerHour: 2 });
  read(ADDRESS, { ...READ, isFree: true });
  rates.admit(ADDRESS, READ).done(true);
  expect(rates.status(ADDRESS)?.used).toBe(0);
});

test('900 points a minute for each operation: reading costs one, changing five', async () => {
  const { clock, read } = rig({ contentPerMinute: 0, contentPerHour: 0 });
  for (let count = 0; count < 900; count += 1) {
    read(user(1));
  }
  expect(() => read(user(1))).toThrow('secondary rate limit');
  read(user(1), { ...READ, operation: 'user.get' });
  for (let count = 0; count < 180; count += 1) {
    read(user(1), MAKE);
  }
  expect(() => read(user(1), MAKE)).toThrow('secondary rate limit');
  await clock.advance(60_000);
  read(user(1));
});

test('80 makings a minute, 500 an hour, with the time to wait', async () => {
  const { clock, read } = rig({ pointsPerMinute: 0 });
  for (let minute = 0; minute < 6; minute += 1) {
    for (let count = 0; count < 80; count += 1) {
      read(user(1), MAKE);
    }
    if (minute === 0) {
      expect(() => read(user(1), MAKE)).toThrow(
        expect.objectContaining({
          message: expect.stringContaining('blocked from content creation'),
          details: { retryAfterS: 60 },
        }),
      );
    }
    await clock.advance(60_000);
  }
  // The one that was refused counts too.
  for (let count = 0; count < 19; count += 1) {
    read(user(1), MAKE);
  }
  expect(() => read(user(1), MAKE)).toThrow(
    expect.objectContaining({ details: { retryAfterS: 3_600 - 360 } }),
  );
});

test('so much of the processor a minute, then no more until the minute is over', async () => {
  const { clock, rates, read } = rig({ processorPerMinute: 2 });
  rates.admit(user(1), READ).done(false, 1_999);
  rates.admit(user(1), READ).done(false, 5);
  expect(() => read(user(1))).toThrow(
    expect.objectContaining({
      message: expect.stringContaining('secondary rate limit of processor time'),
      details: { retryAfterS: 60 },
    }),
  );
  read(user(2));
  await clock.advance(60_000);
  read(user(1));
});

test('100 at a time, also after some were refused', () => {
  const { rates, read } = rig({ pointsPerMinute: 0 });
  const running = Array.from({ length: 100 }, () => rates.admit(user(1), READ));
  for (let count = 0; count < 3; count += 1) {
    expect(() => read(user(1))).toThrow('secondary rate limit');
  }
  read(user(2));
  running[0]?.done(false);
  running[0]?.done(false);
  read(user(1));
  const last = rates.admit(user(1), READ);
  expect(() => read(user(1))).toThrow('secondary rate limit');
  last.done(false);
});

test('a limit of 0 is none', () => {
  const none = {
    anonymousPerHour: 0,
    concurrent: 0,
    pointsPerMinute: 0,
    contentPerMinute: 0,
    contentPerHour: 0,
  };
  const { rates, read } = rig(none);
  for (let count = 0; count < 2_000; count += 1) {
    read(ADDRESS, MAKE);
  }
  expect(rates.status(ADDRESS)).toBeUndefined();
});

test('of more keys than are remembered those go whose windows end first', () => {
  const windows = new Windows({ lengthMs: 1_000, keysMax: 3 });
  for (let key = 0; key < 5; key += 1) {
    windows.use(String(key), 1, key);
  }
  expect(['0', '1', '2', '3', '4'].map((key) => windows.state(key, 10).used)).toEqual([0, 0, 1, 1, 1]);
});

test('a decision takes less than 50 microseconds beside 10,000 callers', () => {
  const { read } = rig({ pointsPerMinute: 0 });
  const callers = Array.from({ length: 10_000 }, (_, id) => user(id));
  callers.forEach((caller) => read(caller));
  const start = process.cpuUsage();
  callers.forEach((caller) => read(caller));
  const { user: used, system } = process.cpuUsage(start);
  expect((used + system) / callers.length).toBeLessThan(50);
});

async function keptRig() {
  const database = openDatabase(':memory:', silentLogger);
  onTestFinished(() => database.close());
  const records = new LocalRecords(database);
  const clock = new ManualClock();
  const start = async (host = '') => {
    const short = shortOf(clock);
    const rules = { ...DEFAULT_RULES, anonymousPerHour: 5 };
    const rates = new RateLimits({ rules, facts: FACTS, clock, short });
    return {
      rates,
      kept: await KeptCounts.open({ records, clock, log: silentLogger, host, counted: rates }),
    };
  };
  return { records, clock, start };
}

test('what was counted outlives the daemon, and goes when its hour is over', async () => {
  const { records, clock, start } = await keptRig();
  const first = await start();
  first.rates.admit(ADDRESS, READ).done(false);
  first.rates.admit(ADDRESS, READ).done(false);
  await clock.advance(limits.hubLimitsKeptMs);
  first.kept[Symbol.dispose]();

  const second = await start();
  expect(second.rates.status(ADDRESS)).toEqual(first.rates.status(ADDRESS));
  second.rates.admit(ADDRESS, READ).done(false);
  expect(second.rates.status(ADDRESS)?.used).toBe(3);
  await clock.advance(3_600_000 + 2 * limits.hubLimitsKeptMs);
  expect((await records.list('limit/')).records).toEqual([]);
  second.kept[Symbol.dispose]();
});

test('what the disk refused is written with the next', async () => {
  const { records, clock, start } = await keptRig();
  const { rates, kept } = await start();
  rates.admit(ADDRESS, READ).done(false);
  armHere('hub.limits.keep=error');
  await clock.advance(limits.hubLimitsKeptMs);
  await settled();
  expect((await records.list('limit/')).records).toEqual([]);
  armHere('');
  await clock.advance(limits.hubLimitsKeptMs);
  await settled();
  expect((await records.list('limit/')).records).toMatchObject([
    { key: 'limit/address/192.0.2.1', value: { used: 1 } },
  ]);
  kept[Symbol.dispose]();
});

test('a hub that ends without haste keeps the last second of what was counted', async () => {
  const { start } = await keptRig();
  const first = await start();
  first.rates.admit(ADDRESS, READ).done(false);
  await first.kept.keep();
  first.kept[Symbol.dispose]();
  const second = await start();
  expect(second.rates.status(ADDRESS)?.used).toBe(1);
  second.kept[Symbol.dispose]();
});

test('managers count minutes together too: points, content, processor time, pulls and pushes', async () => {
  const { records, clock } = await keptRig();
  const rules = {
    ...DEFAULT_RULES,
    contentPerMinute: 2,
    processorPerMinute: 1,
    registryAnonymousPerMinute: 3,
  };
  const start = async (host: string) => {
    const short = shortOf(clock);
    return {
      rates: new RateLimits({ rules, facts: FACTS, clock, short }),
      registry: new RegistryLimits({ rules, clock, short }),
      kept: await KeptCounts.open({ records, clock, log: silentLogger, host, counted: short }),
    };
  };
  const [one, other] = [await start('n1'), await start('n2')];
  const [made, busy] = [user(1), user(2)];
  one.rates.admit(made, MAKE).done(false);
  other.rates.admit(made, MAKE).done(false);
  one.rates.admit(busy, READ).done(false, 1_000);
  one.registry.admit(ADDRESS, 'registry_pull');
  one.registry.admit(ADDRESS, 'registry_pull');
  other.registry.admit(ADDRESS, 'registry_pull');
  await clock.advance(limits.hubLimitsKeptMs);
  await settled();
  for (const { rates, registry } of [one, other]) {
    expect(() => rates.admit(made, MAKE)).toThrow('secondary rate limit');
    expect(() => rates.admit(busy, READ)).toThrow('of processor time');
    expect(registry.statuses(ADDRESS)).toMatchObject({
      registry_pull: { used: 3, remaining: 0 },
      registry_push: { used: 0, remaining: 3 },
    });
    expect(() => registry.admit(ADDRESS, 'registry_pull')).toThrow('too many requests: 3 a minute');
  }
  // Who was there before and comes again has not forgotten it, and a minute later all of it is.
  await clock.advance(limits.hubLimitsKeptMs);
  one.kept[Symbol.dispose]();
  const again = await start('n1');
  expect(() => again.rates.admit(busy, READ)).toThrow('of processor time');
  await clock.advance(60_000);
  again.rates.admit(busy, READ).done(false);
  other.registry.admit(ADDRESS, 'registry_pull');
  [other, again].forEach(({ kept }) => kept[Symbol.dispose]());
});

test('managers count together: asking another one does not double what is allowed', async () => {
  const { records, clock, start } = await keptRig();
  const [one, other] = [await start('n1'), await start('n2')];
  one.rates.admit(ADDRESS, READ).done(false);
  one.rates.admit(ADDRESS, READ).done(false);
  await clock.advance(limits.hubLimitsKeptMs);
  expect(other.rates.status(ADDRESS)).toEqual(one.rates.status(ADDRESS));
  await clock.advance(600_000);
  other.rates.admit(ADDRESS, READ).done(false);
  other.rates.admit(ADDRESS, READ).done(true);
  await clock.advance(limits.hubLimitsKeptMs);
  // The window that began on the other one ends with the first.
  expect(one.rates.status(ADDRESS)).toEqual(other.rates.status(ADDRESS));
  expect(one.rates.status(ADDRESS)).toMatchObject({ used: 3, remaining: 2 });
  one.rates.admit(ADDRESS, READ).done(false);
  one.rates.admit(ADDRESS, READ).done(false);
  await clock.advance(limits.hubLimitsKeptMs);
  expect(() => other.rates.admit(ADDRESS, READ)).toThrow('API rate limit exceeded');

  // A third one that comes later, and one that has been there before, know it all.
  const third = await start('n3');
  expect(() => third.rates.admit(ADDRESS, READ)).toThrow('API rate limit exceeded');
  other.kept[Symbol.dispose]();
  const again = await start('n2');
  expect(() => again.rates.admit(ADDRESS, READ)).toThrow('API rate limit exceeded');
  [one, third].forEach(({ kept }) => kept[Symbol.dispose]());
  await clock.advance(3_600_000);
  again.rates.admit(ADDRESS, READ).done(false);
  expect(again.rates.status(ADDRESS)?.used).toBe(1);
  await clock.advance(limits.hubGoneHostMs + 3_600_000 + 3 * limits.hubLimitsKeptMs);
  expect((await records.list('limit/')).records).toEqual([]);
  again.kept[Symbol.dispose]();
});

test('a decision over what seven managers count takes less than 50 microseconds', () => {
  const { clock, rates, read } = rig();
  const nowMs = Number(clock.nowNano() / 1_000_000n);
  const callers = Array.from({ length: 10_000 }, (_, id) => user(id));
  for (let id = 0; id < callers.length; id += 1) {
    for (let host = 1; host < 7; host += 1) {
      rates.tell(`n${host}`, `user/${id}`, { used: 10, resetMs: nowMs + 60_000 });
    }
  }
  callers.forEach((caller) => read(caller));
  const start = process.cpuUsage();
  callers.forEach((caller) => read(caller));
  const { user: used, system } = process.cpuUsage(start);
  expect((used + system) / callers.length).toBeLessThan(50);
  expect(rates.status(user(1))).toMatchObject({ used: 62 });
});

test('wrong credentials are counted by all managers together, and a lockout is on all of them', async () => {
  const { records, clock } = await keptRig();
  const open = async (host: string) => {
    const lockout = new Lockout(clock);
    return {
      lockout,
      kept: await KeptCounts.open({ records, clock, log: silentLogger, host, counted: lockout }),
    };
  };
  const [one, other] = [await open('n1'), await open('n2')];
  const fail = async ({ lockout }: typeof one, times: number): Promise<void> => {
    for (let count = 0; count < times; count += 1) {
      lockout.failed('user bob');
    }
    await clock.advance(limits.hubLimitsKeptMs);
  };
  await fail(one, 5);
  await fail(other, 4);
  // Right ones on one manager: all begin anew.
  other.lockout.succeeded('user bob');
  await clock.advance(limits.hubLimitsKeptMs);
  await fail(one, 9);
  expect([one, other].map(({ lockout }) => lockout.isLocked('user bob'))).toEqual([false, false]);
  await fail(other, 1);
  expect([one, other].map(({ lockout }) => lockout.isLocked('user bob'))).toEqual([true, true]);
  expect(one.lockout.isLocked('user alice')).toBe(false);
  // Nor does a restart forgive.
  other.kept[Symbol.dispose]();
  const again = await open('n2');
  expect(again.lockout.isLocked('user bob')).toBe(true);
  await clock.advance(limits.hubLockoutMs);
  expect([one, again].map(({ lockout }) => lockout.isLocked('user bob'))).toEqual([false, false]);
  await clock.advance(limits.hubGoneHostMs);
  expect((await records.list('lockout/')).records).toEqual([]);
  [one, again].forEach(({ kept }) => kept[Symbol.dispose]());
});
