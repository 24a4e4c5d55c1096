import type { SentStat } from '../../types/build/session.ts';

/** Bits of Go's FileMode, which is not that of Unix (https://pkg.go.dev/io/fs#FileMode). */
export const GO_MODE = {
  directory: 0x8000_0000,
  symlink: 0x0800_0000,
  device: 0x0400_0000,
  fifo: 0x0200_0000,
  setUserId: 0x0080_0000,
  setGroupId: 0x0040_0000,
  sticky: 0x0010_0000,
} as const;

/** Of a file as Unix has it. Unsigned. */
export function goMode({ type, mode }: Pick<SentStat, 'type' | 'mode'>): number {
  return (
    (mode & 0o777) +
    (type === 'file' ? 0 : GO_MODE[type]) +
    ((mode & 0o4000) === 0 ? 0 : GO_MODE.setUserId) +
    ((mode & 0o2000) === 0 ? 0 : GO_MODE.setGroupId) +
    ((mode & 0o1000) === 0 ? 0 : GO_MODE.sticky)
  );
}
