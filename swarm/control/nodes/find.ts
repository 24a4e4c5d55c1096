import type { Cluster } from '../../cluster/cluster.ts';
import type { NodeRecord } from '../../objects/node.ts';
import type { Node } from '../../planner/state/entries.ts';
import { lookUp } from '../base/look-up.ts';

/** A node that has not been removed. */
export type KnownNode = Node & { record: NodeRecord };

/** The node of an id, a host name or the beginning of an id. Throws not_found, or invalid_argument for several. */
export function findNode(cluster: Cluster, ref: string): KnownNode {
  const { nodes } = cluster.state;
  return lookUp('node', ref, {
    byId: (id) => {
      const node = nodes.get(id);
      return isKnown(node) ? node : undefined;
    },
    byName: (name) => [...knownNodes(cluster)].filter(({ description }) => description?.Hostname === name),
    ids: () => nodes.keys(),
  });
}

export function* knownNodes(cluster: Cluster): Iterable<KnownNode> {
  for (const node of cluster.state.nodes.values()) {
    if (isKnown(node)) {
      yield node;
    }
  }
}

export function isKnown(node: Node | undefined): node is KnownNode {
  return node?.record !== undefined;
}
