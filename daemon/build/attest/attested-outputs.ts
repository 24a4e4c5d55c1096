import { notImplemented } from '../../base/errors.ts';
import type { AskedAttestations } from './asked.ts';
import type { Attestation } from './statement.ts';
import type { Output } from '../export/read-outputs.ts';

/**
 * What of that which is said of an image an output takes. What is wanted only beside images goes to registries, and
 * with results by platform into archives, as BuildKit has it; the store has none. Pure.
 */
export function attestationsFor(
  output: Output,
  { attestations: all, isByPlatform }: { attestations: readonly Attestation[]; isByPlatform: boolean },
): readonly Attestation[] {
  if (output.kind === 'image') {
    return output.push === 'none' ? [] : all;
  }
  return output.kind === 'archive' && isByPlatform ? all : all.filter(({ isInlineOnly }) => !isInlineOnly);
}

/** Throws not_implemented where an output has no place for what a client wants to be said. Pure. */
export function refuseAttestations(asked: AskedAttestations, outputs: readonly Output[]): void {
  const { provenance, scan } = asked;
  // What clients want by default is not missed where it is not kept.
  if (scan === undefined && (provenance === undefined || provenance.isInlineOnly)) {
    return;
  }
  if (outputs.some((output) => output.kind === 'image' && output.push === 'none')) {
    throw notImplemented(
      'exporter image: attestations are not supported: the store has none ' +
        '(type=image,push=true, oci, docker, local and tar have them)',
    );
  }
}
