import type { NetworksChange } from '../../../../api/types/swarm/overlay.ts';
import { limits } from '../../../../daemon/base/limits.ts';

type Lists = Omit<NetworksChange, 'full' | 'more' | 'dataPath' | 'keys'>;

/** In the order in which they are told: a network before what is in it. */
const LISTS = [
  'networks',
  'services',
  'endpoints',
  'removedEndpoints',
  'removedServices',
  'removedNetworks',
] as const satisfies (keyof Lists)[];

/** A change as messages of a bounded size. Pure. */
export function networksInParts({ full, dataPath, keys, ...lists }: NetworksChange): NetworksChange[] {
  const parts: NetworksChange[] = [];
  let part = empty();
  let bytes = 0;
  const add = <K extends keyof Lists>(name: K, item: Lists[K][number]): void => {
    const size = JSON.stringify(item).length;
    if (bytes > 0 && bytes + size > limits.swarmAssignmentsBytesMax) {
      parts.push({ full, dataPath, ...part, more: true });
      part = empty();
      bytes = 0;
    }
    // The list and its item are of one kind.
    (part[name] as (typeof item)[]).push(item);
    bytes += size;
  };
  for (const name of LISTS) {
    for (const item of lists[name]) {
      add(name, item);
    }
  }
  // Acted on with the last part, as all of it is.
  return [...parts, { full, dataPath, ...part, ...(keys && { keys }) }];
}

function empty(): Lists {
  return {
    networks: [],
    removedNetworks: [],
    endpoints: [],
    removedEndpoints: [],
    services: [],
    removedServices: [],
  };
}
