import { expect, test } from 'vitest';
import { planRenewal, renewalMoment } from '../../../../swarm/ca/renewal.ts';
import { DAY_MS, nodeOf, NOW, ROOT, WORKER } from '../../../support/swarm/authority.ts';

const HOUR_MS = 3_600_000;
const { certificate } = nodeOf(ROOT, WORKER);
const DUE = renewalMoment(certificate);

test('108: certificates that are given at once are renewed spread over 50 to 80 % of their life', () => {
  const parts = Array.from({ length: 200 }, () => {
    const one = nodeOf(ROOT, WORKER).certificate;
    return (renewalMoment(one) - one.validFrom) / (one.validUntil - one.validFrom);
  });
  expect(Math.min(...parts)).toBeGreaterThanOrEqual(0.5);
  expect(Math.max(...parts)).toBeLessThanOrEqual(0.8);
  expect(Math.min(...parts)).toBeLessThan(0.55);
  expect(Math.max(...parts)).toBeGreaterThan(0.75);
});

test('108: a restart does not draw another moment', () => {
  expect(renewalMoment(certificate)).toBe(DUE);
});

test.each([
  ['new', NOW, 0, { state: 'valid', waitMs: HOUR_MS }],
  ['a minute before', DUE - 60_000, 0, { state: 'valid', waitMs: 60_000 }],
  ['at its moment', DUE, 0, { state: 'due', waitMs: 0 }],
  ['after a failure', DUE, 1, { state: 'due', waitMs: 5_000 }],
  ['after three', DUE, 3, { state: 'due', waitMs: 20_000 }],
  ['after very many', DUE, 50, { state: 'due', waitMs: HOUR_MS }],
  ['the clock jumps a day forward', DUE + DAY_MS, 0, { state: 'due', waitMs: 0 }],
  ['the clock jumps beyond its end', certificate.validUntil + DAY_MS, 0, { state: 'expired', waitMs: 0 }],
  ['expired, and nobody answers', certificate.validUntil + DAY_MS, 2, { state: 'expired', waitMs: 10_000 }],
  ['the clock jumps a day back', NOW - DAY_MS, 0, { state: 'valid', waitMs: HOUR_MS }],
] as const)('108: %s', (_title, now, failures, expected) => {
  expect(planRenewal(certificate, now, failures)).toEqual(expected);
});
