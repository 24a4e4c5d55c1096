import { expect, test } from 'vitest';
import { withoutProjectChanges, patternsExcept } from '../../../../runtime/security/project-filter.ts';

const REFUSED = [0x401c_5820, 0x4008_6602, 0x4004_6602];

function matches(number: number, patterns: readonly { mask: number; value: number }[]): boolean {
  return patterns.some(({ mask, value }) => (number & mask) >>> 0 === value);
}

test.each([[[0]], [[1, 2]], [[0xffff_ffff, 0]], [REFUSED]])(
  'other than %j: these match nothing',
  (numbers) => {
    const patterns = patternsExcept(numbers);
    for (const number of numbers) {
      expect(matches(number, patterns)).toBe(false);
    }
  },
);

test('other than: every other number matches: near ones, common requests, and any', () => {
  const patterns = patternsExcept(REFUSED);
  const near = REFUSED.flatMap((number) =>
    Array.from({ length: 32 }, (_, bit) => (number ^ (1 << bit)) >>> 0),
  );
  const twoOff = REFUSED.flatMap((number) =>
    Array.from({ length: 32 * 32 }, (_, at) => (number ^ (1 << (at >> 5)) ^ (1 << (at & 31))) >>> 0),
  );
  // TCGETS, TIOCGWINSZ, FIONBIO, FS_IOC_GETFLAGS, FS_IOC_FSGETXATTR, FICLONE
  const common = [0x5401, 0x5413, 0x5421, 0x8008_6601, 0x801c_581f, 0x4004_9409, 0, 0xffff_ffff];
  const any = Array.from({ length: 100_000 }, (_, at) => Math.imul(at, 0x9e37_79b1) >>> 0);
  const others = [...near, ...twoOff, ...common, ...any].filter((each) => !REFUSED.includes(each));
  expect(others.filter((number) => !matches(number, patterns))).toEqual([]);
});

test('other than: all of 8 bits, whatever is left out', () => {
  for (let seed = 0; seed < 200; seed += 1) {
    const left = [seed, (seed * 7 + 3) & 255, (seed * 31) & 255];
    const patterns = patternsExcept(left);
    const missed = Array.from({ length: 256 }, (_, number) => number).filter(
      (number) => !matches(number, patterns),
    );
    expect(missed).toEqual([...new Set(left)].toSorted((a, b) => a - b));
  }
});

test('the rules lose ioctl and get it back with conditions', () => {
  const rules = withoutProjectChanges([{ names: ['read', 'ioctl'], action: 'SCMP_ACT_ALLOW' }]);
  expect(rules[0]).toEqual({ names: ['read'], action: 'SCMP_ACT_ALLOW' });
  expect(rules.slice(1).every(({ names, args }) => names.join() === 'ioctl' && args?.length === 1)).toBe(
    true,
  );
  expect(rules.length).toBeLessThan(60);
});
