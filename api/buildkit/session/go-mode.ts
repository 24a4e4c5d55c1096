import type { SentStat } from '../../types/build/session.ts';

/** Bits of Go's FileMode, which is not that of Unix (https://pkg.go.dev/io/fs#FileMode). */
const GO_MODE = {
  directory: 0x8000_0000,
  symlink: 0x0800_0000,
  device: 0x0400_0000,
  fifo: 0x0200_0000,
  character: 0x0020_0000,
  setUserId: 0x0080_0000,
  setGroupId: 0x0040_0000,
  sticky: 0x0010_0000,
} as const;

/** Of a file as Unix has it. Unsigned. */
export function goMode({ type, mode, device }: Pick<SentStat, 'type' | 'mode' | 'device'>): number {
  return (
    (mode & 0o777) +
    (type === 'file' ? 0 : GO_MODE[type]) +
    (device?.kind === 'character' ? GO_MODE.character : 0) +
    ((mode & 0o4000) === 0 ? 0 : GO_MODE.setUserId) +
    ((mode & 0o2000) === 0 ? 0 : GO_MODE.setGroupId) +
    ((mode & 0o1000) === 0 ? 0 : GO_MODE.sticky)
  );
}

const TYPES = ['directory', 'symlink', 'device', 'fifo'] as const;

export function typeOf(mode: number): SentStat['type'] {
  return TYPES.find((type) => has(mode, GO_MODE[type])) ?? 'file';
}

/** Of a device. */
export function deviceOf(mode: number): 'character' | 'block' {
  return has(mode, GO_MODE.character) ? 'character' : 'block';
}

/** As Unix has them, with set-user-id, set-group-id and sticky. */
export function permissionsOf(mode: number): number {
  return (
    (mode & 0o777) +
    (has(mode, GO_MODE.setUserId) ? 0o4000 : 0) +
    (has(mode, GO_MODE.setGroupId) ? 0o2000 : 0) +
    (has(mode, GO_MODE.sticky) ? 0o1000 : 0)
  );
}

function has(mode: number, bit: number): boolean {
  // `&` answers a signed number of 32 bits.
  return (mode & bit) !== 0;
}
