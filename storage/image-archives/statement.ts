/** What statements about images and files are stored as (https://github.com/in-toto/attestation). */
export const STATEMENT_MEDIA_TYPE = 'application/vnd.in-toto+json';
/** Annotation and type of what a statement says. */
export const PREDICATE_ANNOTATION = 'in-toto.io/predicate-type';

/** What a statement is about. */
export interface Subject {
  name: string;
  /** In hexadecimal digits, by algorithm. */
  digest: Readonly<Record<string, string>>;
}

/** What is said of what a build has made. */
export interface Attestation {
  predicateType: string;
  /** JSON. */
  predicate: Buffer;
  /** What it says itself that it is about; undefined = all that is given out. */
  subjects?: readonly Subject[];
  /** Among files of the result. */
  fileName: string;
  /** Only where an image holds it. */
  isInlineOnly: boolean;
}

/** A statement as it is given out. */
export interface Statement {
  predicateType: string;
  bytes: Buffer;
  fileName: string;
}

const STATEMENT_TYPE = 'https://in-toto.io/Statement/v0.1';

/** Statements about what is given out. `isIndented`: for people. Pure. */
export function statementsOf(
  attestations: readonly Attestation[],
  given: readonly Subject[],
  { isIndented }: { isIndented: boolean },
): Statement[] {
  return attestations.map(({ predicateType, predicate, subjects, fileName }) => {
    const statement = {
      _type: STATEMENT_TYPE,
      predicateType,
      subject: subjects ?? given,
      // Made by us, or read as JSON before.
      predicate: JSON.parse(predicate.toString('utf8')) as unknown,
    };
    const text = JSON.stringify(statement, undefined, isIndented ? 2 : undefined);
    return { predicateType, bytes: Buffer.from(text), fileName };
  });
}

/** `sha256:...` as statements have it. Pure. */
export function digestSet(digest: string): Subject['digest'] {
  const at = digest.indexOf(':');
  return { [digest.slice(0, at)]: digest.slice(at + 1) };
}
