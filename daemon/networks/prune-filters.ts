import type { Filters } from '../../api/types/requests.ts';
import { invalidArgument } from '../base/errors.ts';
import { hasLabel } from '../base/filters.ts';
import { parseUntil } from '../base/go/moment.ts';
import type { Network } from './network.ts';

/** Filters of POST /networks/prune. Throws invalid_argument for unknown keys and values. Pure. */
export function pruneTest(filters: Filters, nowNano: bigint): (network: Network) => boolean {
  const tests = [...filters].map(([key, values]) => test(key, values, nowNano));
  return (network) => tests.every((passes) => passes(network));
}

function test(key: string, values: readonly string[], nowNano: bigint): (network: Network) => boolean {
  switch (key) {
    case 'until': {
      const until = parseUntil(values, nowNano);
      return ({ createdNano }) => createdNano < until;
    }
    case 'label':
      return ({ spec }) => values.every((value) => hasLabel(spec.labels, value));
    case 'label!':
      return ({ spec }) => !values.some((value) => hasLabel(spec.labels, value));
    default:
      throw invalidArgument(`invalid filter '${key}'`);
  }
}
