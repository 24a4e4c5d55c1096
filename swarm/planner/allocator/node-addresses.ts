import { put, remove, type Write } from '../../objects/parts.ts';
import type { ClusterState } from '../state/cluster-state.ts';
import type { Node } from '../state/entries.ts';
import type { Addresses } from './addresses.ts';

/**
 * Addresses of a node itself: one in the ingress network, from when it is ready for the first time until it is removed.
 * Attachments of a node that was removed go with it.
 */
export function allocateNode(state: ClusterState, addresses: Addresses, node: Node): Write[] {
  const { id, record } = node;
  const before = state.nodeAddresses.get(id);
  const { ingress } = state;
  if (record === undefined) {
    return [
      ...(before === undefined ? [] : [remove('nodeAddresses', id)]),
      ...[...node.attachments.values()].map((attachment) => remove('attachment', attachment.id)),
    ];
  }
  if (ingress === undefined) {
    return before === undefined ? [] : [remove('nodeAddresses', id)];
  }
  if (!missesAddress(state, node)) {
    return [];
  }
  const given = addresses.next(ingress);
  if (Array.isArray(given)) {
    return [put('nodeAddresses', { id, networks: [{ network: ingress.id, addresses: given }] })];
  }
  // Of another ingress network, that was removed.
  return before === undefined ? [] : [remove('nodeAddresses', id)];
}

/** Whether a node is to have an address and has none. */
export function missesAddress(
  { ingress, nodeAddresses }: ClusterState,
  { id, record, state }: Node,
): boolean {
  const addresses = nodeAddresses.get(id);
  const isKnown = addresses !== undefined || state?.state === 'ready';
  const isThere = addresses?.networks.some(({ network }) => network === ingress?.id) === true;
  return record !== undefined && ingress !== undefined && isKnown && !isThere;
}
