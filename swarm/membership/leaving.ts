import type { Clock } from '../../daemon/base/clock.ts';
import { errorText } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import { managerKey } from '../objects/values.ts';
import type { NodeLife } from './life.ts';
import type { ManagerPart } from './ports.ts';

/**
 * Takes this manager's member out of the store while the others can agree to it: they would count it as one that does
 * not answer. Where they cannot, the node leaves all the same.
 */
export async function leaveStore<P extends ManagerPart>(
  { clock, logger }: { clock: Clock; logger: Logger },
  { manager, file }: NodeLife<P>,
): Promise<void> {
  const members = manager?.members;
  if (manager?.table === undefined || members === undefined) {
    return;
  }
  const signal = new AbortController();
  using _timer = clock.setTimeout(() => signal.abort(), limits.swarmLeaveMs);
  try {
    const listed = await members.list();
    const own = listed.find(({ name }) => name === file.node);
    if (own !== undefined && listed.length > 1) {
      await manager.parts?.resign();
      await manager.forget([managerKey(file.node)]);
      await members.remove(own.id, signal.signal);
    }
  } catch (error) {
    logger.warn({ error: errorText(error) }, 'the other managers were not told that this one leaves');
  }
}
