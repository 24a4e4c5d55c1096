import { expect, test } from 'vitest';
import { readHandlers, runnablePlatforms } from '../../../../runtime/host/platforms.ts';

const V2 = 'cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3';
const V3 = `${V2} abm avx avx2 bmi1 bmi2 f16c fma movbe xsave`;
const V4 = `${V3} avx512f avx512bw avx512cd avx512dq avx512vl`;
const handler = (magic: string, state = 'enabled'): string =>
  `${state}\ninterpreter /usr/bin/emulator\nflags: POCF\noffset 0\nmagic ${magic}\nmask ffff\n`;
const PAD = '000000000000000000';
const ARM64 = `7f454c460201010${PAD}200b700`;
const ARM = `7f454c460101010${PAD}2002800`;
const S390X = `7f454c460202010${PAD}0020016`;
const PPC64LE = `7f454c460201010${PAD}2001500`;
const PPC64 = `7f454c460202010${PAD}0020015`;
const RISCV64 = `7f454c460201010${PAD}200f300`;
const I386 = `7f454c460101010${PAD}2000300`;

const OWN = ['amd64'];
test.each([
  ['a processor of the first level', { flags: 'fpu sse2' }, OWN],
  ['of the second', { flags: V2 }, [...OWN, 'amd64/v2']],
  ['of the third', { flags: V3 }, [...OWN, 'amd64/v2', 'amd64/v3']],
  ['of the fourth', { flags: V4 }, [...OWN, 'amd64/v2', 'amd64/v3', 'amd64/v4']],
  ['one that lacks something of the second', { flags: V4.replace('popcnt', '') }, OWN],
  ['a kernel that runs 32 bits', { hasIa32: true }, [...OWN, '386']],
  ['another machine', { own: 'arm64', flags: V4, hasIa32: true }, ['arm64']],
  [
    'emulators',
    { handlers: [handler(S390X), handler(ARM64), handler(ARM), handler(PPC64LE), handler(RISCV64)] },
    [...OWN, 'arm/v6', 'arm/v7', 'arm64', 'ppc64le', 'riscv64', 's390x'],
  ],
  ['one of what the kernel runs itself', { hasIa32: true, handlers: [handler(I386)] }, [...OWN, '386']],
  [
    'what is switched off, of another kind, or not known',
    {
      handlers: [
        handler(ARM64, 'disabled'),
        'enabled\ninterpreter /bin/x\nextension .py\n',
        handler(PPC64),
        '',
      ],
    },
    OWN,
  ],
])('%s', (_what, { own = 'amd64', flags = '', hasIa32 = false, handlers = [] }: Host, names) => {
  const host = { read: () => `processor : 0\nflags\t\t: ${flags}\nbugs : x\n`, exists: () => hasIa32 };
  const found = runnablePlatforms(host, { own, handlers });
  expect(found.map(({ architecture, variant }) => [architecture, variant].filter(Boolean).join('/'))).toEqual(
    names,
  );
});

interface Host {
  own?: string;
  flags?: string;
  hasIa32?: boolean;
  handlers?: string[];
}

test('without binfmt_misc there are no emulators', () => {
  expect(readHandlers('/nowhere')).toEqual([]);
});
