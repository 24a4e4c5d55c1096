/** A source as graphs of BuildKit's clients name it: `docker-image://docker.io/library/busybox:latest`. */
export interface NamedSource {
  identifier: string;
  attrs: ReadonlyMap<string, string>;
  /** `linux/amd64`: of an image that is asked for; undefined = that of this host, or none. */
  platform?: string;
}

/**
 * What a build gets in place of a source: the very same where nobody minds. Throws for what it may not have, and
 * UnaskedSource where somebody has to be asked first.
 */
export type SourceConversion = (source: NamedSource) => NamedSource;

/** Of builds whose clients have no policy. */
export const asTheyAre: SourceConversion = (source) => source;
