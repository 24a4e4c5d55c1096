import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ifThere } from '../../daemon/base/errors.ts';
import type { HostSource } from './source.ts';

/** In the words of the OCI image specification. */
export interface RunnablePlatform {
  os: 'linux';
  architecture: string;
  variant?: string;
}

/** Flags of /proc/cpuinfo that each level of x86-64 has beyond the one before it (x86-64 psABI, 3.1.1). */
const LEVELS: readonly (readonly [variant: string, flags: readonly string[]])[] = [
  ['v2', ['cx16', 'lahf_lm', 'popcnt', 'sse4_1', 'sse4_2', 'ssse3']],
  ['v3', ['abm', 'avx', 'avx2', 'bmi1', 'bmi2', 'f16c', 'fma', 'movbe', 'xsave']],
  ['v4', ['avx512f', 'avx512bw', 'avx512cd', 'avx512dq', 'avx512vl']],
];

/** `e_machine` of an ELF header to architectures, by `EI_CLASS` and `EI_DATA` where these tell them apart (elf.h). */
const MACHINES: Readonly<Record<string, readonly string[]>> = {
  '62': ['amd64'],
  '3': ['386'],
  '183': ['arm64'],
  '40': ['arm/v7', 'arm/v6'],
  '243 64': ['riscv64'],
  '21 little': ['ppc64le'],
  '22 64': ['s390x'],
  '258': ['loong64'],
  '8 64 little': ['mips64le'],
  '8 64 big': ['mips64'],
};
const HANDLERS = '/proc/sys/fs/binfmt_misc';
/** The magic that stands in a handler: `7f` and `ELF`, with the bytes after it up to `e_machine`. */
const MAGIC = /^magic 7f454c46([0-9a-f]{2})([0-9a-f]{2})[0-9a-f]{24}([0-9a-f]{2})([0-9a-f]{2})/m;

/**
 * What programs of images may be for here: this machine first, with the levels that its processor has, then what it
 * also takes, and what emulators are registered for in `handlers` (binfmt_misc: contents of its files). Pure but for
 * `host`.
 */
export function runnablePlatforms(
  host: Pick<HostSource, 'read' | 'exists'>,
  { own, handlers }: { own: string; handlers: readonly string[] },
): RunnablePlatform[] {
  const names = [
    own,
    ...(own === 'amd64' ? levels(host) : []),
    // The kernel has this setting where it runs programs of 32 bits.
    ...(own === 'amd64' && host.exists('/proc/sys/abi/vsyscall32') ? ['386'] : []),
    ...handlers.flatMap((text) => emulated(text)).toSorted(),
  ];
  return [...new Set(names)].map((name) => {
    const [architecture = '', variant] = name.split('/');
    return { os: 'linux', architecture, ...(variant !== undefined && { variant }) };
  });
}

/** Of binfmt_misc; none where it is not mounted. */
export function readHandlers(directory = HANDLERS): string[] {
  const names = ifThere(() => readdirSync(directory), ['ENOENT', 'ENOTDIR', 'EACCES']) ?? [];
  return names
    .filter((name) => name !== 'register' && name !== 'status')
    .flatMap(
      (name) => ifThere(() => readFileSync(join(directory, name), 'utf8'), ['ENOENT', 'EACCES']) ?? [],
    );
}

function levels(host: Pick<HostSource, 'read'>): string[] {
  const line = /^flags\s*:(.*)$/m.exec(host.read('/proc/cpuinfo') ?? '')?.[1] ?? '';
  const flags = new Set(line.split(/\s+/));
  const missing = LEVELS.findIndex(([, needed]) => !needed.every((flag) => flags.has(flag)));
  return LEVELS.slice(0, missing === -1 ? LEVELS.length : missing).map(([variant]) => `amd64/${variant}`);
}

function emulated(handler: string): readonly string[] {
  const [, kind = '', data = '', low = '', high = ''] = MAGIC.exec(handler) ?? [];
  if (!handler.startsWith('enabled') || kind === '') {
    return [];
  }
  const order = data === '02' ? 'big' : 'little';
  const machine = String(Number.parseInt(order === 'big' ? low + high : high + low, 16));
  const bits = kind === '02' ? '64' : '32';
  const tries = [`${machine} ${bits} ${order}`, `${machine} ${bits}`, `${machine} ${order}`, machine];
  return tries.flatMap((key) => (Object.hasOwn(MACHINES, key) ? [MACHINES[key] ?? []] : []))[0] ?? [];
}
