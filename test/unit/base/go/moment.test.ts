import { expect, test } from 'vitest';
import { parseMoment, parseUntil, tryParseMoment } from '../../../../daemon/base/go/moment.ts';

/** 2026-01-01, midnight. */
const NOW = 1_767_225_600_000_000_000n;
const HOUR = 3_600_000_000_000n;

test.each([
  ['0', 0n],
  ['1136073600', 1_136_073_600_000_000_000n],
  ['1136073600.', 1_136_073_600_000_000_000n],
  ['1136073600.5', 1_136_073_600_500_000_000n],
  ['1136073600.000000001', 1_136_073_600_000_000_001n],
  ['1136073600.0000000019', 1_136_073_600_000_000_001n],
  ['-1', -1_000_000_000n],
  ['1h30m', NOW - HOUR - HOUR / 2n],
  ['1.5s', NOW - 1_500_000_000n],
  ['1.s', NOW - 1_000_000_000n],
  ['.5s', NOW - 500_000_000n],
  ['-10m', NOW + HOUR / 6n],
  ['0s', NOW],
  ['2026-01-01', NOW],
  ['2026-01-01Z', NOW],
  ['2026-01-01+01:00', NOW - HOUR],
  ['2026-01-01-01:00', NOW + HOUR],
  ['2026-01-01T03', NOW + 3n * HOUR],
  ['2026-01-01T3', NOW + 3n * HOUR],
  ['2026-01-01T03Z', NOW + 3n * HOUR],
  ['2026-01-01T03-01:00', NOW + 4n * HOUR],
  ['2026-01-01T01:00', NOW + HOUR],
  ['2026-01-01T01:00+01:00', NOW],
  ['2026-01-01T10:00:00', NOW + 10n * HOUR],
  ['2026-01-01T02:00:00+02:00', NOW],
  ['2026-01-01T00:00:00.000000001Z', NOW + 1n],
  ['2026-01-01T01:00:00.000000007+01:00', NOW + 7n],
  ['2026-01-01T00:00:00.0000000019', NOW + 1n],
])('%s is a moment', (text, nano) => {
  expect(parseMoment(text, NOW)).toBe(nano);
});

test.each([
  '',
  'x',
  '10x',
  '1w',
  'yesterday',
  '5 minutes',
  '2026-13-01',
  '2026-02-30',
  '2026-1-1',
  '2026-01-01T24',
  '2026-01-01T00:60',
  '2026-01-01T00:00.5',
  '2026-01-01t00:00:00z',
  '2026-01-01 00:00',
  '2026-01-01T00:00:00+1:00',
])('%j is none', (text) => {
  expect(tryParseMoment(text, NOW)).toBeUndefined();
  expect(() => parseMoment(text, NOW)).toThrow(`failed to parse time "${text}"`);
});

test('a prune has one `until`', () => {
  expect(parseUntil(['1h'], NOW)).toBe(NOW - HOUR);
  expect(() => parseUntil(['1h', '2h'], NOW)).toThrow('more than one until filter specified');
  expect(() => parseUntil([], NOW)).toThrow('failed to parse time ""');
});
