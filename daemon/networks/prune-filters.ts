import type { Filters } from '../../api/types/requests.ts';
import type { NetworkInspect } from '../../api/types/system.ts';
import { parseRfc3339Nano } from '../base/clock.ts';
import { invalidArgument } from '../base/errors.ts';
import { hasLabel } from '../base/filters.ts';
import { parseUntil } from '../base/go/moment.ts';

/** What filters look at. */
type PrunedNetwork = Pick<NetworkInspect, 'Created' | 'Labels'>;

/** Filters of POST /networks/prune. Throws invalid_argument for unknown keys and values. Pure. */
export function pruneTest(filters: Filters, nowNano: bigint): (network: PrunedNetwork) => boolean {
  const tests = [...filters].map(([key, values]) => test(key, values, nowNano));
  return (network) => tests.every((passes) => passes(network));
}

function test(key: string, values: readonly string[], nowNano: bigint): (network: PrunedNetwork) => boolean {
  switch (key) {
    case 'until': {
      const until = parseUntil(values, nowNano);
      return ({ Created }) => parseRfc3339Nano(Created) < until;
    }
    case 'label':
      return ({ Labels }) => values.every((value) => hasLabel(Labels, value));
    case 'label!':
      return ({ Labels }) => !values.some((value) => hasLabel(Labels, value));
    default:
      throw invalidArgument(`invalid filter '${key}'`);
  }
}
