import { formatIp, isIpv4, parseIp } from '../../../daemon/base/addresses/ip.ts';
import { limits } from '../../../daemon/base/limits.ts';
import { attachmentId, type AttachmentRecord } from '../../objects/attachment.ts';
import type { NetworkRecord } from '../../objects/network.ts';
import type { ClusterState } from '../state/cluster-state.ts';
import { attachmentKey } from '../state/entries.ts';
import type { Addresses } from './addresses.ts';
import { isIn } from './pools.ts';

/** A container that its node wants in a network. */
export interface AttachmentWish {
  node: string;
  /** Id, name, or the beginning of an id. */
  network: string;
  container: string;
  names: readonly string[];
  /** What it has to have, at most one of each family; of a family that is not named, whichever is free. */
  addresses: readonly string[];
}

/** Why a wish cannot be granted: the code of swarmkit's API and the text behind it. */
export interface AttachmentRefusal {
  code: 'NotFound' | 'PermissionDenied' | 'InvalidArgument' | 'FailedPrecondition' | 'ResourceExhausted';
  text: string;
}

/**
 * The record that grants a wish. The one that is there already, where that has all addresses that are asked for: who
 * asks again is answered the same.
 */
export function decideAttachment(
  state: ClusterState,
  addresses: Addresses,
  wish: AttachmentWish,
  now: number,
): AttachmentRecord | AttachmentRefusal {
  const { node, container } = wish;
  if (state.nodes.get(node)?.record === undefined) {
    return { code: 'NotFound', text: `node ${node} not found` };
  }
  const network = networkOf(state, wish.network);
  if (!('id' in network)) {
    return network;
  }
  const id = attachmentId({ network: network.id, node, container });
  const before = attachmentOf(state, node, { network: network.id, container });
  if (before === undefined && (state.nodes.get(node)?.attachments.size ?? 0) >= limits.swarmAttachmentsMax) {
    const text = `node ${node} has ${limits.swarmAttachmentsMax} containers in networks, and no more are taken`;
    return { code: 'ResourceExhausted', text };
  }
  const given = addressesFor(addresses, network, wish.addresses, before);
  if (!Array.isArray(given)) {
    return given;
  }
  const names = [...new Set(wish.names.map((name) => name.toLowerCase()))];
  return {
    id,
    created: before?.created ?? now,
    network: network.id,
    node,
    container,
    names,
    addresses: given,
  };
}

/** What a container of a node has in a network; undefined where it has nothing in it. */
export function attachmentOf(
  state: ClusterState,
  node: string,
  { network, container }: { network: string; container: string },
): AttachmentRecord | undefined {
  const attachments = state.nodes.get(node)?.attachments;
  const known = attachments?.get(attachmentKey({ network, container }));
  if (known !== undefined) {
    return known;
  }
  const found = findNetworks(state, network);
  return found.length === 1
    ? attachments?.get(attachmentKey({ network: found[0]?.id ?? '', container }))
    : undefined;
}

function networkOf(state: ClusterState, ref: string): NetworkRecord | AttachmentRefusal {
  const [network, ...others] = findNetworks(state, ref);
  if (network === undefined) {
    return { code: 'NotFound', text: `network ${ref} not found` };
  }
  if (others.length > 0) {
    return {
      code: 'InvalidArgument',
      text: `network ${ref} is ambiguous (${others.length + 1} matches found)`,
    };
  }
  if (!network.attachable || network.ingress || network.overlay === undefined) {
    return { code: 'PermissionDenied', text: `network ${ref} not manually attachable` };
  }
  return network;
}

/** The one of this id, else of this name, else those whose ids begin so. */
function findNetworks({ networks }: ClusterState, ref: string): NetworkRecord[] {
  const exact = networks.get(ref);
  if (exact !== undefined) {
    return [exact];
  }
  const all = [...networks.values()];
  const named = all.filter(({ name }) => name === ref);
  return named.length > 0 || ref === '' ? named : all.filter(({ id }) => id.startsWith(ref));
}

function addressesFor(
  addresses: Addresses,
  network: NetworkRecord,
  wanted: readonly string[],
  before: AttachmentRecord | undefined,
): string[] | AttachmentRefusal {
  const asked = [...new Set(wanted.map((text) => formatted(text)))];
  const own = new Set(before?.addresses);
  if (before !== undefined && asked.every((address) => own.has(address))) {
    return before.addresses;
  }
  for (const [index, address] of asked.entries()) {
    const parsed = parseIp(address);
    if (parsed === undefined || !addresses.poolsOf(network).some(({ subnet }) => isIn(subnet, parsed))) {
      const text = `invalid address ${wanted[index] ?? ''}: It does not belong to any of this network's subnets`;
      return { code: 'InvalidArgument', text };
    }
    if (!own.has(address) && !addresses.isFree(network, address)) {
      return {
        code: 'FailedPrecondition',
        text: `Address already in use: ${address} in network ${network.name}`,
      };
    }
  }
  const four = asked.filter((address) => isFour(address));
  const six = asked.filter((address) => !isFour(address));
  if (four.length > 1 || six.length > 1) {
    return {
      code: 'InvalidArgument',
      text: `several addresses of one family are asked for: ${asked.join(', ')}`,
    };
  }
  const given = addresses.next(network, {
    without: [...(four.length > 0 ? [4 as const] : []), ...(six.length > 0 ? [6 as const] : [])],
  });
  if (!Array.isArray(given)) {
    return { code: 'ResourceExhausted', text: given.error };
  }
  return [
    ...four,
    ...given.filter((address) => isFour(address)),
    ...six,
    ...given.filter((address) => !isFour(address)),
  ];
}

/** As records have it; what is none stays as it is, and is refused. */
function formatted(text: string): string {
  const address = parseIp(text);
  return address === undefined ? text : formatIp(address);
}

function isFour(text: string): boolean {
  const address = parseIp(text);
  return address !== undefined && isIpv4(address);
}
