import { invalidArgument, notFound } from '../../base/errors.ts';

/** What a client may name a network by. */
export interface NamedNetwork {
  id: string;
  name: string;
}

/**
 * The network of a full id, else the only one of exactly this name, else the only one whose id begins so. Throws
 * not_found, and invalid_argument in dockerd's words for several. Pure.
 */
export function findNetwork<T extends NamedNetwork>(ref: string, networks: readonly T[]): T {
  const found =
    networks.find(({ id }) => id === ref) ??
    only(
      ref,
      'name',
      networks.filter(({ name }) => name === ref),
    ) ??
    only(
      ref,
      'ID prefix',
      networks.filter(({ id }) => ref !== '' && id.startsWith(ref)),
    );
  if (found === undefined) {
    throw notFound(`network ${ref} not found`);
  }
  return found;
}

function only<T>(ref: string, basis: string, found: readonly T[]): T | undefined {
  if (found.length > 1) {
    throw invalidArgument(`network ${ref} is ambiguous (${found.length} matches found based on ${basis})`);
  }
  return found[0];
}
