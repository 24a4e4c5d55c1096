import type { SeccompArgument, SeccompRule } from './seccomp-profile.ts';

/**
 * The owner of a file or directory may put it into another project, or keep a directory from handing its project down,
 * and leaves every quota by that; a process in a user namespace may not (ioctl_fssetxattr(2), ioctl_iflags(2)). So in
 * containers that have a quota these requests are refused: linux/fs.h, the last as 32-bit programs have it.
 */
const FS_IOC_FSSETXATTR = 0x401c_5820;
const FS_IOC_SETFLAGS = 0x4008_6602;
const FS_IOC32_SETFLAGS = 0x4004_6602;

/** The rules, but for what changes a file's project. Pure. */
export function withoutProjectChanges(rules: readonly SeccompRule[]): SeccompRule[] {
  return [
    ...rules.map((rule) => ({ ...rule, names: rule.names.filter((name) => name !== 'ioctl') })),
    ...patternsExcept([FS_IOC_FSSETXATTR, FS_IOC_SETFLAGS, FS_IOC32_SETFLAGS]).map(({ mask, value }) => ({
      names: ['ioctl'],
      action: 'SCMP_ACT_ALLOW',
      args: [{ index: 1, value: mask, valueTwo: value, op: 'SCMP_CMP_MASKED_EQ' } satisfies SeccompArgument],
    })),
  ];
}

/**
 * Patterns of bits, at least one of which every 32-bit number matches except these numbers, which match none. "Not
 * equal" would not do: filters compare 64 bits, the kernel looks at the lower 32 of a request. Pure.
 */
export function patternsExcept(numbers: readonly number[]): { mask: number; value: number }[] {
  const patterns: { mask: number; value: number }[] = [];
  const visit = (
    among: readonly number[],
    fixed: { mask: number; value: number },
    bits: readonly number[],
  ): void => {
    const [first = 0] = among;
    const isShared = (bit: number): boolean =>
      among.every((number) => bitOf(number, bit) === bitOf(first, bit));
    for (const bit of bits.filter(isShared)) {
      patterns.push(withBit(fixed, bit, 1 - bitOf(first, bit)));
    }
    const [split, ...rest] = bits.filter((bit) => !isShared(bit));
    if (split !== undefined) {
      for (const side of [0, 1]) {
        const there = among.filter((number) => bitOf(number, split) === side);
        visit(there, withBit(fixed, split, side), rest);
      }
    }
  };
  visit(
    numbers,
    { mask: 0, value: 0 },
    Array.from({ length: 32 }, (_, bit) => bit),
  );
  return patterns;
}

function bitOf(number: number, bit: number): number {
  return (number >>> bit) & 1;
}

function withBit(
  { mask, value }: { mask: number; value: number },
  bit: number,
  set: number,
): { mask: number; value: number } {
  return { mask: (mask | (1 << bit)) >>> 0, value: (value | (set << bit)) >>> 0 };
}
