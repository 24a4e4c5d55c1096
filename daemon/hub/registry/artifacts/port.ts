import type { RecordChange } from '../../records/port.ts';
import type { By } from '../by.ts';
import type { Manifest } from '../manifests/manifest.ts';
import type { ParsedManifest } from '../manifests/parse.ts';

/** Artifacts of which the hub knows what has to be in them, and keeps records beside the manifest. */
export interface KnownArtifacts {
  /** Undefined = of no kind that is known. What it names is in the repository. Throws MANIFEST_INVALID. */
  check(parsed: ParsedManifest): Promise<CheckedArtifact | undefined>;
  /** Changes that go with the deletion of a manifest, whatever it is. Called inside of `Mirror.change`. */
  removals(by: By, manifest: Manifest): readonly RecordChange[];
}

export interface CheckedArtifact {
  /**
   * Changes that go with those of the manifest, which takes the place of `replaced`. Called inside of `Mirror.change`.
   * Throws what refuses the push.
   */
  changes(by: By, manifest: Manifest, replaced: Manifest | undefined): readonly RecordChange[];
}
