import { invalidArgument, notFound } from '../../../daemon/base/errors.ts';

export type Kind = 'node' | 'service' | 'task' | 'secret' | 'config' | 'network';

interface Sources<T> {
  byId(id: string): T | undefined;
  /** All of exactly this name. */
  byName(name: string): readonly T[];
  ids(): Iterable<string>;
}

/**
 * The object of a full id, else of exactly this name, else of the only id that begins so. Throws not_found and
 * invalid_argument in dockerd's words, which have no prefix here. Pure.
 */
export function lookUp<T>(kind: Kind, ref: string, sources: Sources<T>): T {
  const exact = sources.byId(ref);
  if (exact !== undefined) {
    return exact;
  }
  const named = sources.byName(ref);
  const found =
    named.length > 0 || ref === ''
      ? named
      : [...sources.ids()].filter((id) => id.startsWith(ref)).flatMap((id) => sources.byId(id) ?? []);
  const [only, ...others] = found;
  if (only === undefined) {
    throw notFound(`${kind} ${ref} not found`);
  }
  if (others.length > 0) {
    throw invalidArgument(`${kind} ${ref} is ambiguous (${found.length} matches found)`);
  }
  return only;
}
