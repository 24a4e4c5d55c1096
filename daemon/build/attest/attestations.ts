import type { BuildRecipe } from '../ports.ts';
import type { UsedSource } from '../graph/used-source.ts';
import type { AskedAttestations } from './asked.ts';
import { buildSteps } from './build-steps.ts';
import { predicateType, provenanceOf, refuseIncomplete, type ProvenFacts } from './provenance.ts';
import type { Attestation } from '../../../storage/image-archives/statement.ts';

/** A result, as far as something can be said of it. */
export interface ProvenImage {
  sources: readonly UsedSource[];
  recipe: Pick<BuildRecipe, 'target' | 'file'>;
}

/** What is to be said of an image. Throws where it cannot be as the client wants it. Pure. */
export function attestationsOf(
  { sources, recipe }: ProvenImage,
  { provenance }: Pick<AskedAttestations, 'provenance'>,
  build: Omit<ProvenFacts, 'sources' | 'made'>,
): Attestation[] {
  if (provenance === undefined) {
    return [];
  }
  if (provenance.mustBeComplete) {
    refuseIncomplete(sources);
  }
  return [
    {
      predicateType: predicateType(provenance.version),
      predicate: provenanceOf(
        { ...build, sources, ...(provenance.mode === 'max' && { made: madeBy(recipe) }) },
        provenance,
      ),
      fileName: provenance.fileName,
      isInlineOnly: provenance.isInlineOnly,
    },
  ];
}

/** What was done for an image, and of which file. Pure. */
export function madeBy({ target, file }: ProvenImage['recipe']): NonNullable<ProvenFacts['made']> {
  return { steps: buildSteps(target), file };
}
