import { invalidArgument } from '../base/errors.ts';
import {
  parseReference,
  withDefaultTag,
  withTag,
  type Reference,
} from '../../storage/references/reference.ts';

/**
 * The name that `repo` and `tag` parameters mean together; `tag` wins over one inside `repo`, none means `latest`.
 * Throws invalid_argument, also for a digest: that is not given but computed.
 */
export function parseTarget(repo: string, tag: string): Reference {
  const reference = parseReference(repo);
  if (reference.digest !== undefined) {
    throw invalidArgument('refusing to create a tag with a digest reference');
  }
  return tag === '' ? withDefaultTag(reference) : withTag(reference, tag);
}
