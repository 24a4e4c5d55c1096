import { membersOf, oidOf, type Element } from './der-read.ts';
import { oid, sequence, setOf, TAG, utf8String } from './der-write.ts';

/** Attributes of a subject that swarms use, with their object identifiers. */
const ATTRIBUTES = { commonName: '2.5.4.3', organization: '2.5.4.10', unit: '2.5.4.11' } as const;

/** The owner that a certificate names. `unit` and `organization` are empty in a root's. */
export interface Subject {
  commonName: string;
  unit: string;
  organization: string;
}

export function encodeSubject({ organization, unit, commonName }: Subject): Buffer {
  const parts: [string, string][] = [
    [ATTRIBUTES.organization, organization],
    [ATTRIBUTES.unit, unit],
    [ATTRIBUTES.commonName, commonName],
  ];
  return sequence(
    ...parts
      .filter(([, value]) => value !== '')
      .map(([name, value]) => setOf(sequence(oid(name), utf8String(value)))),
  );
}

/**
 * The subject of a certificate. An attribute that stands there twice is read as absent: which of both counts must not
 * depend on the reader.
 */
export function decodeSubject(name: Element): Subject {
  const values = new Map<string, string[]>();
  for (const relative of membersOf(name, TAG.sequence)) {
    for (const attribute of membersOf(relative, TAG.set)) {
      const [type, value] = membersOf(attribute, TAG.sequence);
      const key = oidOf(type);
      values.set(key, [...(values.get(key) ?? []), textOf(value)]);
    }
  }
  const only = (key: string): string => {
    const found = values.get(key) ?? [];
    return found.length === 1 ? (found[0] ?? '') : '';
  };
  return {
    commonName: only(ATTRIBUTES.commonName),
    unit: only(ATTRIBUTES.unit),
    organization: only(ATTRIBUTES.organization),
  };
}

/** Other kinds of string than these two are read as absent. */
function textOf(value: Element | undefined): string {
  const isText = value?.tag === TAG.utf8String || value?.tag === TAG.printableString;
  return isText ? value.content.toString('utf8') : '';
}
