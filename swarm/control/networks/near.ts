import { formatAnySubnet, overlapsAny, parseAnyCidr } from '../../../daemon/base/addresses/ip.ts';
import type { Cluster } from '../../cluster/cluster.ts';
import { subnetsOf } from './choose.ts';
import type { NetworkWish } from './wish.ts';

/** What a node's interfaces and its own networks are in, as it has said. */
interface NodeSubnets {
  name: string;
  /** `ADDRESS/LENGTH` */
  subnets: readonly string[];
}

/** Nodes that a warning names: the first ones show where to look. */
const NAMED_MAX = 3;

export function nodeSubnets(cluster: Cluster): NodeSubnets[] {
  return [...cluster.state.nodes.keys()].flatMap((id) => {
    const { description, subnets = [] } = cluster.part('nodeDescription', id) ?? {};
    return subnets.length === 0 ? [] : [{ name: description?.Hostname ?? id, subnets }];
  });
}

/**
 * What a subnet that was asked for hides from tasks: it is made all the same, as by dockerd, for the user may know that
 * nothing else is there. `''` where it hides nothing. Pure.
 */
export function overlapWarning(
  { name, config }: Pick<NetworkWish, 'name' | 'config'>,
  nodes: NodeSubnets[],
): string {
  const hidden = subnetsOf(config).flatMap((asked) =>
    nodes.flatMap((node) => {
      const found = node.subnets
        .flatMap((text) => parseAnyCidr(text)?.subnet ?? [])
        .find((each) => overlapsAny(asked, each));
      return found === undefined ? [] : [{ asked, found, node: node.name }];
    }),
  );
  const named = hidden
    .slice(0, NAMED_MAX)
    .map(
      ({ asked, found, node }) =>
        `${formatAnySubnet(asked)} overlaps with ${formatAnySubnet(found)} of node ${node}`,
    );
  const more = hidden.length > NAMED_MAX ? `, and so on at ${hidden.length - NAMED_MAX} more` : '';
  return named.length === 0
    ? ''
    : `network ${name}: subnet ${named.join(', ')}${more}: what else is there its tasks do not reach`;
}
