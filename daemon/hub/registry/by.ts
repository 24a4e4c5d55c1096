import type { Actor } from '../occurrences/occurrence.ts';
import type { Repository } from '../repositories/repository.ts';

/** Who does something to a repository. */
export interface By {
  repository: Repository;
  actor: Actor;
}
