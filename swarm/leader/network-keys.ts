import type { Clock } from '../../daemon/base/clock.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import { keyChanged } from '../cluster/cluster.ts';
import { repeatWhile } from '../membership/manager/repeat.ts';
import { hasEncryption, ringAt, type NetworkKeyRing } from '../objects/network-keys.ts';
import type { Random } from '../objects/random.ts';
import { sealedKey } from '../objects/values.ts';
import { isStoreError } from '../store/errors.ts';
import type { LeaderLoop, Leading } from './ports.ts';

interface Deps {
  clock: Clock;
  logger: Logger;
  random: Random;
  sealer: { seal(name: string, value: Buffer): Buffer; open(name: string, sealed: Buffer): Buffer };
}

/**
 * Keeps the keys of encrypted overlay networks: makes them with the first such network, adds one each period, and gives
 * each node its number. They are stored before any node is told; a leader that dies in between is followed by one that
 * finds either the old ring or the new one.
 */
export function networkKeysLoop(deps: Deps): LeaderLoop {
  const key = sealedKey.networkKeys();
  return {
    start: (leading) =>
      repeatWhile(
        {
          clock: deps.clock,
          logger: deps.logger,
          what: 'keys of encrypted networks',
          sweepMs: limits.swarmNetworkKeyLookMs,
        },
        (wake) => {
          const parts = leading.cluster.subscribe((changed) => {
            if (changed.some(({ write: { part } }) => part === 'network' || part === 'node')) {
              wake();
            }
          });
          const values = leading.cluster.subscribeValues((changes) => {
            if (changes.some((change) => keyChanged(change) === key)) {
              wake();
            }
          });
          return {
            [Symbol.dispose]: () => {
              parts[Symbol.dispose]();
              values[Symbol.dispose]();
            },
          };
        },
        () => keep(deps, leading),
      ),
  };
}

async function keep({ clock, logger, random, sealer }: Deps, leading: Leading): Promise<void> {
  const { cluster } = leading;
  const { networks, nodes } = cluster.state;
  if (![...networks.values()].some(hasEncryption)) {
    return;
  }
  const key = sealedKey.networkKeys();
  const entry = cluster.value(key);
  // Only this loop has written it.
  const known = entry && (JSON.parse(sealer.open(key, entry.value).toString()) as NetworkKeyRing);
  const present = [...nodes.values()].filter(({ record }) => record !== undefined).map(({ id }) => id);
  const ring = ringAt(known, { now: Number(clock.nowNano() / 1_000_000n), nodes: present, random });
  if (ring === known) {
    return;
  }
  try {
    failpoint('swarm.network-keys.store');
    await leading.commit({
      conditions: [{ key, revision: entry?.revision ?? 0 }],
      values: [{ kind: 'put', key, value: sealer.seal(key, Buffer.from(JSON.stringify(ring))) }],
    });
    failpoint('swarm.network-keys.stored');
  } catch (error) {
    if (!isStoreError(error, 'conflict')) {
      throw error;
    }
    // Another leader was first: its change wakes this loop.
    return;
  }
  if (ring.keys !== known?.keys) {
    logger.info(
      { newest: ring.keys.at(-1)?.id },
      'encrypted networks of the swarm have another ring of keys',
    );
  }
}
