import { expect, test } from 'vitest';
import { formatDuration, parseDuration } from '../../../../daemon/base/go/duration.ts';

test.each([
  ['30s', 30e9],
  ['1m30s', 90e9],
  ['1h0m0s', 3600e9],
  ['1.5s', 1.5e9],
  ['500ms', 5e8],
  ['2µs', 2000],
  ['7ns', 7],
])('%s is %d ns, both ways', (text, nanos) => {
  expect([parseDuration(text), formatDuration(nanos)]).toEqual([BigInt(nanos), text]);
});

test.each([
  ['0', 0n],
  ['-0', 0n],
  ['0s', 0n],
  ['1.s', 1_000_000_000n],
  ['.5s', 500_000_000n],
  ['-10m', -600_000_000_000n],
  ['+10m', 600_000_000_000n],
  ['1h30m', 5_400_000_000_000n],
  ['1s1h', 3_601_000_000_000n],
  ['2us', 2000n],
  ['2μs', 2000n],
  ['1.9ns', 1n],
  ['0.3333333333333333333h', 1_199_999_999_999n],
  ['9223372036854775807ns', 9_223_372_036_854_775_807n],
])('%s is %d ns, as Go reads it', (text, nanos) => {
  expect(parseDuration(text)).toBe(nanos);
});

test.each(['', 's', '.s', '-', '5', '1 s', '1d', '1S', '1.5.5s', '--1s', '1h-5m', '9223372036854775808ns'])(
  '%j is no duration',
  (text) => {
    expect(parseDuration(text)).toBeUndefined();
  },
);

test('zero is printed with its unit', () => {
  expect(formatDuration(0)).toBe('0s');
});
