import type { ContainerSpec } from '../../../api/types/swarm/container-spec.ts';
import type { ServiceSpec } from '../../../api/types/swarm/service.ts';
import type { Cluster } from '../../cluster/cluster.ts';
import { nameKey } from '../../objects/values.ts';
import type { Condition, Write } from '../../store/port.ts';
import { rpcError } from '../base/rpc-error.ts';
import { unchanged } from '../base/write.ts';

interface Named {
  id: string;
  name: string;
}

/** What a service's transaction has to hold for what it names. */
export interface Use {
  conditions: Condition[];
  values: Write[];
}

/**
 * Throws where a secret or config that is named is not there under both its id and its name. Those that the service did
 * not use before are held by writing their names anew, on which their removal depends: of a removal and a use at the
 * same time one is decided anew.
 */
export function useData(cluster: Cluster, spec: ServiceSpec, before?: ServiceSpec): Use {
  const use: Use = { conditions: [], values: [] };
  for (const kind of ['secret', 'config'] as const) {
    const named = unique(namedBy(kind, spec));
    const records = kind === 'secret' ? cluster.state.secrets : cluster.state.configs;
    const missing = named.filter(({ id, name }) => records.get(id)?.spec.Name !== name);
    if (missing.length > 0) {
      const kinds = missing.length > 1 ? `${kind}s` : kind;
      throw rpcError('InvalidArgument', `${kinds} not found: ${missing.map(({ name }) => name).join(', ')}`);
    }
    const used = new Set(namedBy(kind, before ?? {}).map(({ id }) => id));
    for (const { id, name } of named.filter((each) => !used.has(each.id))) {
      use.conditions.push(unchanged(cluster, kind, id));
      use.values.push({ kind: 'put', key: nameKey(kind, name), value: Buffer.from(id) });
    }
  }
  return use;
}

function namedBy(kind: 'secret' | 'config', spec: ServiceSpec): Named[] {
  const container: ContainerSpec = spec.TaskTemplate?.ContainerSpec ?? {};
  return kind === 'secret'
    ? (container.Secrets ?? []).map((each) => ({ id: each.SecretID, name: each.SecretName }))
    : (container.Configs ?? []).map((each) => ({ id: each.ConfigID, name: each.ConfigName }));
}

/** One object may be used as several files. */
function unique(named: readonly Named[]): Named[] {
  return [...new Map(named.map((each) => [`${each.id} ${each.name}`, each])).values()];
}
