import { expect, test } from 'vitest';
import { formatNano, parseRfc3339Nano, systemClock } from '../../../daemon/base/clock.ts';

test.each([
  ['1970-01-01T00:00:00Z', 0n],
  ['2026-01-01T00:00:00.5Z', 1_767_225_600_500_000_000n],
  ['2026-01-01T01:00:00.000000007+01:00', 1_767_225_600_000_000_007n],
  ['2024-02-29T00:00:00-00:30', 1_709_166_600_000_000_000n],
  ['0001-01-01T00:00:00Z', -62_135_596_800_000_000_000n],
])('RFC 3339: %s is %d', (text, nano) => {
  expect(parseRfc3339Nano(text)).toBe(nano);
});

test.each([
  '',
  '2026-01-01',
  '2026-01-01T00:00:00',
  '2026-01-01T00:00:00.Z',
  '2026-01-01T00:00:00.0000000001Z',
  '2026-01-01t00:00:00z',
  '2026-02-29T00:00:00Z',
  '2026-04-31T00:00:00Z',
  '2026-01-01T24:00:00Z',
  '2026-01-01T23:59:60Z',
  '2026-01-01T00:00:00+24:00',
])('RFC 3339: %j is no time', (text) => {
  expect(() => parseRfc3339Nano(text)).toThrow(RangeError);
});

test('what is printed is read again', () => {
  const text = '2016-06-07T20:31:11.853781916Z';
  expect(formatNano(parseRfc3339Nano(text))).toBe(text);
});

test('nanoseconds increase, and are of the millisecond that `Date.now()` tells', () => {
  let last = 0n;
  for (const _call of Array.from({ length: 3000 })) {
    const before = Date.now();
    const nano = systemClock.nowNano();
    const after = Date.now();
    expect(Number(nano / 1_000_000n)).toBeGreaterThanOrEqual(before);
    expect(Number(nano / 1_000_000n)).toBeLessThanOrEqual(after);
    expect(nano > last).toBe(true);
    last = nano;
  }
});
