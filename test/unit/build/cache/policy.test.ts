import { expect, test } from 'vitest';
import { toCollect, type KeptRecord } from '../../../../daemon/build/cache/collect.ts';
import {
  policyProblem,
  policyRules,
  shownRules,
  type PolicyRule,
} from '../../../../daemon/build/cache/policy.ts';

const GIB = 1024 ** 3;
const HOUR_MS = 3_600_000;
const NOTHING = { reservedBytes: 0, usedBytesMax: 0, freeBytesMin: 0 };
const AT = { disk: { totalBytes: 100 * GIB, freeBytes: 50 * GIB }, nowNano: 10n ** 18n };

const rule = (more: Partial<PolicyRule>): PolicyRule => ({ ...NOTHING, isAll: false, filters: [], ...more });
const record = (id: string, gib: number, more: Partial<KeptRecord> = {}): KeptRecord => ({
  id,
  type: 'regular',
  bytes: gib * GIB,
  isInUse: false,
  isShared: false,
  lastUsedMs: 0,
  ...more,
});
const collected = (records: readonly KeptRecord[], rules: readonly PolicyRule[] | undefined): string[] =>
  toCollect(records, policyRules({ isEnabled: true, defaults: NOTHING, rules }, AT) ?? [], {
    now: HOUR_MS,
    disk: AT.disk,
  });

test('nothing goes where it is switched off', () => {
  expect(policyRules({ isEnabled: false, defaults: NOTHING, rules: [rule({})] }, AT)).toBeUndefined();
});

test('bounds that are said stand in place of those of the disk, all three', () => {
  const defaults = { ...NOTHING, reservedBytes: 20 * GIB };
  const [temporary, ...others] = policyRules({ isEnabled: true, defaults, rules: undefined }, AT) ?? [];
  expect(temporary).toMatchObject({ usedBytesMax: Math.floor(20 * GIB * 0.138), unusedMs: 48 * HOUR_MS });
  expect(others).toHaveLength(3);
  // As it always was with `defaultKeepStorage`: above it something goes.
  others.forEach((one) =>
    expect(one).toMatchObject({ reservedBytes: 20 * GIB, usedBytesMax: 0, freeBytesMin: 0 }),
  );
});

test('a rule of its own: what it keeps, for how long, and what it lets through', () => {
  const [one] =
    policyRules(
      {
        isEnabled: true,
        defaults: NOTHING,
        rules: [
          rule({
            reservedBytes: GIB,
            isAll: true,
            filters: ['unused-for=48h', 'type==regular', 'type=internal'],
          }),
        ],
      },
      AT,
    ) ?? [];
  expect(one).toEqual({
    takesInternal: true,
    unusedMs: 48 * HOUR_MS,
    reservedBytes: GIB,
    usedBytesMax: 0,
    freeBytesMin: 0,
    filters: ['type==regular', 'type==internal'],
  });
});

test('rules are shown with the conditions that clients filter by', () => {
  const own = [rule({ filters: ['type=regular', 'type=internal', 'unused-for=48h'], freeBytesMin: GIB })];
  const asked = { isEnabled: true, defaults: NOTHING };
  const shown = (rules?: readonly PolicyRule[]): unknown[] =>
    shownRules(policyRules({ ...asked, rules }, AT) ?? []);
  expect(shown(own)).toEqual([
    {
      isAll: false,
      filters: ['type==regular', 'type==internal'],
      unusedMs: 48 * HOUR_MS,
      reservedBytes: 0,
      usedBytesMax: 0,
      freeBytesMin: GIB,
    },
  ]);
  expect(shown()[0]).toMatchObject({
    filters: ['type==source.local,type==exec.cachemount,type==source.git.checkout'],
    unusedMs: 48 * HOUR_MS,
  });
});

test('a rule takes the longest unused until its bound is kept; what images have only where all goes', () => {
  const records = [record('a', 2, { lastUsedMs: 2 }), record('b', 2, { lastUsedMs: 1 }), record('c', 2)];
  expect(collected(records, [rule({ reservedBytes: 4 * GIB })])).toEqual(['c']);
  expect(collected(records, [rule({ usedBytesMax: 2 * GIB })])).toEqual(['c', 'b']);
  expect(collected(records, [rule({ freeBytesMin: 53 * GIB })])).toEqual(['c', 'b']);
  const shared = [record('s', 9, { isShared: true }), record('a', 1)];
  expect(collected(shared, [rule({})])).toEqual(['a']);
  expect(collected(shared, [rule({ isAll: true })])).toEqual(['a', 's']);
});

test.each([
  [['unused-for'], 'filter "unused-for" must be NAME=VALUE'],
  [['colour=red'], "invalid filter 'colour'"],
  [['unused-for=x'], 'x'],
])('a policy with the filters %j cannot be followed', (filters, problem) => {
  const policy = { isEnabled: true, defaults: NOTHING, rules: [rule({ filters })] };
  expect(policyProblem(policy)).toContain(problem);
});
