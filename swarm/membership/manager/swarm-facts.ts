import { keyChanged, type Cluster } from '../../cluster/cluster.ts';
import type { SwarmFacts } from '../../dispatcher/ports.ts';
import { nodeOfCertificateKey, sealedKey } from '../../objects/values.ts';
import type { Authority } from './authority.ts';
import type { ManagerTable } from './manager-table.ts';

export interface FactSources {
  cluster: Cluster;
  authority: Pick<Authority, 'rootFor'>;
  table: Pick<ManagerTable, 'addresses' | 'subscribe'>;
}

/** What nodes are told of managers and root, as the store has it. */
export function factsOf({ cluster, authority, table }: FactSources): SwarmFacts {
  return {
    managers: () => table.addresses(),
    rootFor: (node) => authority.rootFor(node),
    subscribe: (listener) => {
      const managers = table.subscribe(() => listener({ topic: 'managers', node: undefined }));
      const root = cluster.subscribeValues((changes) => {
        const keys = changes.map(keyChanged);
        if (keys.includes(sealedKey.root())) {
          listener({ topic: 'root', node: undefined });
          return;
        }
        // A thousand nodes join one after the other: what one is told to renew to concerns no other.
        for (const key of keys) {
          const node = nodeOfCertificateKey(key);
          if (node !== undefined) {
            listener({ topic: 'root', node });
          }
        }
      });
      return {
        [Symbol.dispose]: () => {
          managers[Symbol.dispose]();
          root[Symbol.dispose]();
        },
      };
    },
  };
}
