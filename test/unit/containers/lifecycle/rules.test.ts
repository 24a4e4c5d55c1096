import { describe, expect, test } from 'vitest';
import { DetachScanner, parseDetachKeys } from '../../../../daemon/base/stdio/detach-keys.ts';
import { generateName } from '../../../../daemon/base/made-up-name.ts';
import { checkName } from '../../../../daemon/containers/state/names.ts';
import {
  nextRestartDelayMs,
  startsWithDaemon,
} from '../../../../daemon/containers/lifecycle/restart-policy.ts';
import { parseSignal } from '../../../../daemon/base/signals.ts';
import { humanDuration } from '../../../../daemon/containers/views/status-text.ts';

describe('restart policy', () => {
  const end = { exitCode: 1, restartCount: 0, lastDelayMs: 0, upTimeMs: 5, stopRequested: false };

  test.each([
    [undefined, {}, null],
    [{ Name: '' }, {}, null],
    [{ Name: 'no' }, {}, null],
    [{ Name: 'always' }, {}, 100],
    [{ Name: 'always' }, { exitCode: 0 }, 100],
    [{ Name: 'always' }, { stopRequested: true }, null],
    [{ Name: 'unless-stopped' }, { exitCode: 0 }, 100],
    [{ Name: 'on-failure' }, {}, 100],
    [{ Name: 'on-failure' }, { exitCode: 0 }, null],
    [{ Name: 'on-failure', MaximumRetryCount: 2 }, { restartCount: 1 }, 100],
    [{ Name: 'on-failure', MaximumRetryCount: 2 }, { restartCount: 2 }, null],
    [{ Name: 'always' }, { lastDelayMs: 100 }, 200],
    [{ Name: 'always' }, { lastDelayMs: 51_200 }, 60_000],
    [{ Name: 'always' }, { lastDelayMs: 60_000 }, 60_000],
    [{ Name: 'always' }, { lastDelayMs: 60_000, upTimeMs: 10_000 }, 100],
  ])('%j after %j waits %j', (policy, facts, expected) => {
    expect(nextRestartDelayMs(policy, { ...end, ...facts })).toBe(expected);
  });

  test.each([
    ['always', true, true],
    ['always', false, true],
    ['unless-stopped', true, false],
    ['unless-stopped', false, true],
    ['on-failure', false, false],
    ['no', false, false],
  ])('%s, stopped by a person %j, starts with the daemon: %j', (Name, userStopped, expected) => {
    expect(startsWithDaemon({ Name }, userStopped)).toBe(expected);
  });
});

describe('names', () => {
  test.each(['web', '/web', 'a', '-web', '_web', 'a1', 'svc.1.x-y_z'])('%s is one', (name) => {
    expect(checkName(name)).toBe(name.replace(/^\//, ''));
  });

  test.each(['', '/', '//web', '.web', 'we b', 'we/b', 'wéb', 'web\n'])('%j is none', (name) => {
    expect(() => checkName(name)).toThrow(
      `Invalid container name (${name}), only [a-zA-Z0-9_-][a-zA-Z0-9_.-]* are allowed`,
    );
  });

  test('generated ones are names, and avoid those taken', () => {
    const taken = new Set<string>();
    for (let count = 0; count < 200; count += 1) {
      const name = generateName((candidate) => taken.has(candidate));
      expect(checkName(name)).toBe(name);
      expect(taken.has(name)).toBe(false);
      taken.add(name);
    }
    let refusals = 20;
    expect(generateName(() => (refusals -= 1) > 0)).toMatch(/^[a-z]+_[a-z]+\d+$/);
  });
});

describe('signals', () => {
  test.each([
    ['KILL', 9],
    ['SIGKILL', 9],
    ['sigterm', 15],
    ['15', 15],
    ['64', 64],
    ['RTMIN', 34],
    ['SIGRTMIN+3', 37],
    ['RTMAX-1', 63],
    ['CLD', 17],
  ])('%s is %i', (text, number) => {
    expect(parseSignal(text)).toBe(number);
  });

  test.each(['', '0', '65', '-9', '9.5', 'SIG', 'SIGFOO', 'RTMIN+31', 'RTMAX-31', ' 9'])(
    '%j is none',
    (text) => {
      expect(() => parseSignal(text)).toThrow(`Invalid signal: ${text}`);
    },
  );
});

test('durations read as in dockerd', () => {
  const minute = 60;
  const hour = 3600;
  const day = 24 * hour;
  const samples = [
    0,
    1,
    2,
    59,
    minute,
    119,
    2 * minute,
    59 * minute,
    hour,
    89 * minute,
    90 * minute,
    47 * hour,
    48 * hour,
    13 * day,
    14 * day,
    59 * day,
    60 * day,
    729 * day,
    730 * day,
    3650 * day,
  ];
  expect(samples.map((seconds) => humanDuration(seconds))).toMatchInlineSnapshot(`
    [
      "Less than a second",
      "1 second",
      "2 seconds",
      "59 seconds",
      "About a minute",
      "About a minute",
      "2 minutes",
      "59 minutes",
      "About an hour",
      "About an hour",
      "2 hours",
      "47 hours",
      "2 days",
      "13 days",
      "2 weeks",
      "8 weeks",
      "2 months",
      "24 months",
      "2 years",
      "10 years",
    ]
  `);
});

const scanAll = (keys: string | undefined, chunks: string[]): string => {
  const scanner = new DetachScanner(parseDetachKeys(keys));
  let text = '';
  for (const chunk of chunks) {
    const { forward, detached } = scanner.scan(Buffer.from(chunk));
    text += forward.toString();
    if (detached) {
      return `${text}|detached`;
    }
  }
  return text;
};

describe('detach keys', () => {
  test.each([
    [undefined, ['ls\n'], 'ls\n'],
    [undefined, ['\x10\x11'], '|detached'],
    [undefined, ['ls\x10', '\x11rest'], 'ls|detached'],
    [undefined, ['\x10x'], '\x10x'],
    [undefined, ['\x10', 'x\x10\x11'], '\x10x|detached'],
    [undefined, ['\x10\x10\x11'], '\x10|detached'],
    ['a', ['xay'], 'x|detached'],
    ['ctrl-a,b', ['\x01\x01b'], '\x01|detached'],
    ['ctrl-@', ['\0'], '|detached'],
  ])('%j in %j forwards %j', (keys, chunks, expected) => {
    expect(scanAll(keys, chunks)).toBe(expected);
  });

  test.each(['ctrl-', 'ctrl-A', 'ctrl-1', 'xx', 'a,,b', 'alt-a'])('%j are none', (keys) => {
    expect(() => parseDetachKeys(keys)).toThrow(`Invalid detach keys (${keys}) provided`);
  });
});
