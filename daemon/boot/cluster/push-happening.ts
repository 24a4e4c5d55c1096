import { limits } from '../../base/limits.ts';
import type { Happening } from '../../cluster/events/emit/happening.ts';
import type { Push } from '../../hub/occurrences/pushes.ts';

const NANOS_PER_MS = 1_000_000n;

/**
 * What a push to the hub is to the cluster: one event, whichever managers tell it; undefined for an old one, which came
 * with the records of another place. Whoever may look at events may not look at a private repository: it has no name
 * there. Pure.
 */
export function pushHappening(
  { repository, tag, after, atMs }: Push,
  id: string,
  nowMs: number,
): Happening | undefined {
  if (nowMs - atMs > limits.clusterSameMs) {
    return undefined;
  }
  const { isPrivate } = repository;
  const name = isPrivate ? `repository-${repository.id}` : `${repository.owner.name}/${repository.name}`;
  return {
    atNano: BigInt(atMs) * NANOS_PER_MS,
    once: id.slice(0, 16),
    id,
    namespace: 'default',
    regarding: {
      kind: 'Repository',
      namespace: 'default',
      name,
      uid: String(repository.id),
    },
    type: 'Normal',
    reason: 'Pushed',
    action: 'Push',
    note: isPrivate
      ? 'a private repository has got an image'
      : `${tag} of ${name} is ${after?.digest ?? 'gone'}`,
    part: 'registry',
  };
}
