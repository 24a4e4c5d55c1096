/** A source as graphs of BuildKit's clients name it: `docker-image://docker.io/library/busybox:latest`. */
export interface NamedSource {
  identifier: string;
  attrs: ReadonlyMap<string, string>;
}

/** What a build gets in place of a source: the very same where nobody minds. Throws for what it may not have. Pure. */
export type SourceConversion = (source: NamedSource) => NamedSource;

/** Of builds whose clients have no policy. */
export const asTheyAre: SourceConversion = (source) => source;
