import { systemClock } from '../../../daemon/base/clock.ts';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { NetworkIndex } from '../../../daemon/networks/network-index.ts';
import { defaultNetworkOptions } from '../../../daemon/networks/options.ts';

/** The networks of a new host. `meta`: what was stored by earlier ones. */
export function networkIndex(meta = new Map<string, string>()): NetworkIndex {
  return new NetworkIndex({
    meta: { get: (key) => meta.get(key), set: (key, value) => void meta.set(key, value) },
    table: { all: () => [] },
    options: defaultNetworkOptions,
    clock: systemClock,
    log: silentLogger,
  });
}
