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
  expect([parseDuration(text), formatDuration(nanos)]).toEqual([nanos, text]);
});

test('zero, and what is no duration', () => {
  expect(['0', '0s', '', 's', '5', '-1s', '1 s', '1d'].map(parseDuration)).toEqual([
    0,
    0,
    ...Array.from({ length: 6 }, () => undefined),
  ]);
  expect(formatDuration(0)).toBe('0s');
});
