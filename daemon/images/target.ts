import { invalidArgument } from '../base/errors.ts';
import {
  nameable,
  parseReference,
  withDefaultTag,
  withTag,
  type Reference,
} from '../../storage/references/reference.ts';

/**
 * The name that `repo` and `tag` parameters mean together; `tag` wins over one inside `repo`, none means `latest`.
 * Throws invalid_argument, also for a digest, which is computed and not given, and for a name like `sha256:abc`.
 */
export function parseTarget(repo: string, tag: string): Reference {
  const reference = parseReference(repo);
  if (reference.digest !== undefined) {
    throw invalidArgument('refusing to create a tag with a digest reference');
  }
  return nameable(tag === '' ? withDefaultTag(reference) : withTag(reference, tag));
}
