import { errorText } from '../../../daemon/base/errors.ts';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import type { Clock } from '../../../daemon/base/clock.ts';
import { limits } from '../../../daemon/base/limits.ts';
import type { Logger } from '../../../daemon/base/logger.ts';
import type { RootAuthority } from '../../control/ports.ts';
import type { Leading } from '../../leader/ports.ts';
import { keyOf } from '../../objects/keys.ts';
import { remove } from '../../objects/parts.ts';
import { managerKey } from '../../objects/values.ts';
import { nowMs } from './authority.ts';

interface Deps {
  clock: Clock;
  logger: Logger;
  authority: Pick<RootAuthority, 'removalOf'>;
}

/**
 * Removes nodes that were let in and never came: a node whose answer was lost has asked again, and is another one
 * since. Until then they are down, for a user to see.
 */
export async function forgetGhosts({ clock, logger, authority }: Deps, leading: Leading): Promise<void> {
  const { cluster, signal } = leading;
  const latest = nowMs(clock) - limits.swarmGhostNodeMs;
  for (const { id, record } of cluster.state.nodes.values()) {
    // With its first session a node says what it is.
    const isGhost = record !== undefined && record.created < latest && !cluster.part('nodeDescription', id);
    if (signal.aborted) {
      return;
    }
    if (!isGhost || cluster.value(managerKey(id)) !== undefined) {
      continue;
    }
    try {
      failpoint('swarm.membership.ghost-forgotten');
      await leading.commit({
        conditions: [
          { key: keyOf('node', id), revision: cluster.revisionOf('node', id) },
          { key: keyOf('nodeDescription', id), revision: 0 },
        ],
        parts: [remove('node', id), remove('nodeState', id)],
        values: authority.removalOf(id),
      });
      logger.info({ node: id }, 'a node that was let in and never came is removed');
    } catch (error) {
      logger.warn({ node: id, error: errorText(error) }, 'a node that never came is not removed yet');
    }
  }
}
