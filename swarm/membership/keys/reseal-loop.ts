import type { Reachability } from '../../../api/types/swarm/node.ts';
import type { Clock } from '../../../daemon/base/clock.ts';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import { limits } from '../../../daemon/base/limits.ts';
import type { Logger } from '../../../daemon/base/logger.ts';
import { keyChanged } from '../../cluster/cluster.ts';
import type { LeaderLoop, Leading } from '../../leader/ports.ts';
import { isSealedKey, OLDEST_DATA_KEY } from '../../objects/values.ts';
import { isStoreError } from '../../store/errors.ts';
import type { Entry } from '../../store/port.ts';
import type { Keyring } from '../../store/sealed.ts';
import { repeatWhile } from '../manager/repeat.ts';
import { oldestKept, sealedBefore, wantedKey } from './standing.ts';

const SWEEP_MS = 5_000;

interface Deps {
  clock: Clock;
  logger: Logger;
  /** Of this manager, on its disk. */
  keyring: () => Keyring;
  /** All managers, with the newest data key that each says to have. */
  managers: () => readonly { node: string; dataKey: number | undefined; reachability: Reachability }[];
}

/**
 * Brings a new data key to its end: when all managers that answer have it, the values of older keys are sealed anew;
 * when those that were away have it too and nothing of an older key is left, managers may drop it. What is done stands
 * in the store, so the next leader goes on.
 */
export function resealLoop(deps: Deps): LeaderLoop {
  return {
    start: (leading) => {
      const state: State = { cleanSinceMs: undefined };
      return repeatWhile(
        { clock: deps.clock, logger: deps.logger, what: 'sealing values anew', sweepMs: SWEEP_MS },
        (wake) =>
          leading.cluster.subscribeValues((changes) => {
            if (changes.map(keyChanged).some((key) => isSealedKey(key) || key.startsWith('manager/'))) {
              wake();
            }
          }),
        () => reseal(deps, leading, state),
      );
    },
  };
}

interface State {
  /** Of the monotonic clock. */
  cleanSinceMs: number | undefined;
}

async function reseal(deps: Deps, leading: Leading, state: State): Promise<void> {
  const { clock, logger } = deps;
  const { cluster, signal } = leading;
  const keyring = deps.keyring();
  const wanted = wantedKey(cluster);
  if (wanted === undefined || keyring.newest !== wanted || keyring.oldest === wanted) {
    state.cleanSinceMs = undefined;
    return;
  }
  const lacking = deps.managers().filter(({ dataKey }) => dataKey !== wanted);
  if (lacking.some(({ reachability }) => reachability !== 'unreachable')) {
    return;
  }
  const old = sealedBefore(cluster, wanted, keyring);
  for (const entry of old) {
    if (signal.aborted) {
      return;
    }
    await resealOne(leading, keyring, entry);
  }
  if (old.length > 0) {
    logger.info({ values: old.length, dataKey: wanted }, 'values of the swarm are sealed with a new key');
  }
  if (old.length > 0 || lacking.length > 0) {
    state.cleanSinceMs = undefined;
    return;
  }
  const now = clock.monotonicMs();
  state.cleanSinceMs ??= now;
  if (now - state.cleanSinceMs >= limits.swarmKeyGraceMs && oldestKept(cluster) < wanted) {
    const value = Buffer.from(String(wanted));
    await leading.commit({ conditions: [], values: [{ kind: 'put', key: OLDEST_DATA_KEY, value }] });
    failpoint('swarm.membership.key-retired');
    logger.info({ dataKey: wanted }, 'older data keys are not needed any more');
  }
}

/** One that was written meanwhile is looked at anew: its change wakes the loop. */
async function resealOne(leading: Leading, keyring: Keyring, entry: Entry): Promise<void> {
  const { key, revision } = entry;
  const value = keyring.resealed(key, entry.value);
  if (value === undefined) {
    return;
  }
  try {
    await leading.commit({ conditions: [{ key, revision }], values: [{ kind: 'put', key, value }] });
    failpoint('swarm.membership.value-resealed');
  } catch (error) {
    if (!isStoreError(error, 'conflict')) {
      throw error;
    }
  }
}
