import { describe, expect, test } from 'vitest';
import { healthCheckOf, toTimerMs } from '../../../../daemon/containers/health/check.ts';
import {
  afterEnd,
  healthAfter,
  NEW_HEALTH,
  pauseBeforeProbe,
  spread,
} from '../../../../daemon/containers/health/health.ts';
import type { Health, ProbeResult } from '../../../../daemon/containers/health/health.ts';
import { mergeHealthcheck } from '../../../../daemon/containers/request/healthcheck.ts';

const check = {
  args: ['true'],
  intervalNano: 30e9,
  timeoutNano: 1e9,
  startPeriodNano: 10e9,
  startIntervalNano: 2e9,
  retries: 2,
};
const result = (exitCode: number): ProbeResult => ({ start: 's', end: 'e', exitCode, output: '' });

/** Exit codes with the seconds since the start of the container, and what was found after each. */
describe('healthAfter', () => {
  test.each<[string, [code: number, upS: number][], string[]]>([
    ['success', [[0, 1]], ['healthy 0']],
    [
      'failures in the start period do not count',
      [
        [1, 1],
        [1, 9],
        [1, 10],
      ],
      ['starting 0', 'starting 0', 'starting 1'],
    ],
    [
      'retries failures in a row are too many',
      [
        [1, 11],
        [1, 12],
        [-1, 13],
      ],
      ['starting 1', 'unhealthy 2', 'unhealthy 3'],
    ],
    [
      'once healthy, the start period is over',
      [
        [0, 1],
        [1, 2],
        [1, 3],
      ],
      ['healthy 0', 'healthy 1', 'unhealthy 2'],
    ],
    [
      'one success heals',
      [
        [1, 11],
        [1, 12],
        [0, 13],
        [1, 14],
      ],
      ['starting 1', 'unhealthy 2', 'healthy 0', 'healthy 1'],
    ],
  ])('%s', (_title, probes, expected) => {
    let health: Health = NEW_HEALTH;
    const seen = probes.map(([code, upS]) => {
      health = healthAfter(health, check, result(code), upS * 1e9);
      return `${health.status} ${health.failingStreak}`;
    });
    expect(seen).toEqual(expected);
  });

  test('keeps the last five results', () => {
    let health: Health = NEW_HEALTH;
    for (let code = 1; code <= 7; code += 1) {
      health = healthAfter(health, check, result(code), 20e9);
    }
    expect(health.log.map(({ exitCode }) => exitCode)).toEqual([3, 4, 5, 6, 7]);
    expect(afterEnd({ ...health, status: 'healthy' })).toEqual({ ...health, status: 'unhealthy' });
  });
});

test.each([
  ['starting', 1, 2e9],
  ['starting', 10, 30e9],
  ['healthy', 1, 30e9],
  ['unhealthy', 1, 30e9],
] as const)('pause of one that is %s after %i s', (status, upS, expected) => {
  expect(pauseBeforeProbe(check, { ...NEW_HEALTH, status }, upS * 1e9)).toBe(expected);
});

test('spread: within the pause, by id', () => {
  const parts = ['0', '8', 'f'].map((digit) => spread(1000, digit.repeat(64)));
  expect(parts.map(Math.floor)).toEqual([0, 533, 999]);
});

test.each([
  [{}, undefined],
  [{ Healthcheck: { Test: ['NONE'] } }, undefined],
  [{ Healthcheck: { Interval: 5e9 } }, undefined],
  [
    { Healthcheck: { Test: ['CMD', 'a', 'b'] } },
    {
      args: ['a', 'b'],
      intervalNano: 30e9,
      timeoutNano: 30e9,
      startPeriodNano: 0,
      startIntervalNano: 5e9,
      retries: 3,
    },
  ],
  [
    { Shell: ['/bin/bash', '-c'], Healthcheck: { Test: ['CMD-SHELL', 'a b'], Retries: 1, Interval: 1e6 } },
    {
      args: ['/bin/bash', '-c', 'a b'],
      intervalNano: 1e6,
      timeoutNano: 30e9,
      startPeriodNano: 0,
      startIntervalNano: 5e9,
      retries: 1,
    },
  ],
])('the check of %j', (config, expected) => {
  expect(healthCheckOf(config)).toEqual(expected);
});

test('timers: whole milliseconds, at least one', () => {
  expect([1, 1_500_000].map(toTimerMs)).toEqual([1, 2]);
});

describe('the check of request and image', () => {
  const image = { Test: ['CMD', 'image'], Interval: 5e9, Retries: 7 };
  test.each([
    ['none', undefined, undefined, undefined],
    ['of the image', undefined, image, image],
    ['an empty Test inherits', { Test: [], Interval: 2e9 }, image, { ...image, Interval: 2e9 }],
    [
      'a test of its own keeps the numbers',
      { Test: ['CMD', 'own'] },
      image,
      { ...image, Test: ['CMD', 'own'] },
    ],
    ['zero inherits', { Retries: 0, Timeout: 1e9 }, image, { ...image, Timeout: 1e9 }],
    ['NONE ends the inheritance', { Test: ['NONE'] }, image, { ...image, Test: ['NONE'] }],
    ['NONE of the image', undefined, { Test: ['NONE'] }, { Test: ['NONE'] }],
  ])('%s', (_title, request, ofImage, expected) => {
    expect(mergeHealthcheck(request, ofImage)).toEqual({
      ...(expected && { healthcheck: expected }),
      warnings: [],
    });
  });

  test('a check of the image that cannot be run is a warning', () => {
    expect(mergeHealthcheck(undefined, { Test: ['TCP', '80'] })).toEqual({
      warnings: [
        "The image's HEALTHCHECK will not be run: " +
          "unknown type 'TCP' in Healthcheck.Test (expected 'NONE', 'CMD' or 'CMD-SHELL')",
      ],
    });
  });
});
