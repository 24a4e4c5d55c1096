import type { Cluster } from '../../cluster/cluster.ts';
import { nameKey } from '../../objects/values.ts';
import { lookUp } from '../base/look-up.ts';
import { isKnown, type KnownService } from './view.ts';

/** The service of an id, a name or the beginning of an id. Throws not_found, or invalid_argument for several. */
export function findService(cluster: Cluster, ref: string): KnownService {
  const byId = (id: string): KnownService | undefined => {
    const service = cluster.state.services.get(id);
    return isKnown(service) ? service : undefined;
  };
  return lookUp('service', ref, {
    byId,
    byName: (name) => {
      const id = cluster.value(nameKey('service', name))?.value.toString();
      const service = id === undefined ? undefined : byId(id);
      return service === undefined ? [] : [service];
    },
    ids: () => cluster.state.services.keys(),
  });
}

/** All that have not been removed. */
export function* knownServices(cluster: Cluster): Iterable<KnownService> {
  for (const service of cluster.state.services.values()) {
    if (isKnown(service)) {
      yield service;
    }
  }
}
