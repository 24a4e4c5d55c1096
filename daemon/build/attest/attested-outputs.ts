import type { Attestation } from '../../../storage/image-archives/statement.ts';
import type { Output } from '../export/read-outputs.ts';

/**
 * What of that which is said of an image an output takes. What is wanted only beside images goes to registries, and
 * with results by platform into archives, as BuildKit has it. Clients want it by default: an image that stays in the
 * store is the same with and without. Pure.
 */
export function attestationsFor(
  output: Output,
  { attestations: all, isByPlatform }: { attestations: readonly Attestation[]; isByPlatform: boolean },
): readonly Attestation[] {
  const takesAll =
    (output.kind === 'image' && output.push !== 'none') || (output.kind === 'archive' && isByPlatform);
  return takesAll ? all : all.filter(({ isInlineOnly }) => !isInlineOnly);
}
