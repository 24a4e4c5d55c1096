import type { Platform } from './traits.ts';

/** The words of uname for what images call otherwise. */
const ARCHITECTURE_OF_IMAGES = new Map([
  ['x86_64', 'amd64'],
  ['aarch64', 'arm64'],
]);

/**
 * Whether a node can run an image that exists for these platforms. No platforms are no wish; an empty architecture or
 * system fits every node.
 */
export function platformFits(wanted: readonly Platform[], node: Platform): boolean {
  return (
    wanted.length === 0 ||
    wanted.some(
      ({ architecture, os }) =>
        (architecture === '' || normalised(architecture) === normalised(node.architecture)) &&
        (os === '' || os === node.os),
    )
  );
}

function normalised(architecture: string): string {
  return ARCHITECTURE_OF_IMAGES.get(architecture) ?? architecture;
}
