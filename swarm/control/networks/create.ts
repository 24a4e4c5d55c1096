import type { NetworkCreateRequest, NetworkCreateResponse } from '../../../api/types/system.ts';
import { conflict } from '../../../daemon/base/errors.ts';
import { limits } from '../../../daemon/base/limits.ts';
import type { Cluster } from '../../cluster/cluster.ts';
import { newSwarmId } from '../../objects/ids.ts';
import type { NetworkRecord } from '../../objects/network.ts';
import { put } from '../../objects/parts.ts';
import { nameKey, NETWORK_ALLOCATION_KEY, NO_INGRESS_KEY } from '../../objects/values.ts';
import { rpcError } from '../base/rpc-error.ts';
import { write, type Decision } from '../base/write.ts';
import { nowMs, type ControlContext } from '../context.ts';
import { chooseSubnets, chooseVni, type Taken } from './choose.ts';
import { nodeSubnets, overlapWarning } from './near.ts';
import { ingressOf } from './find.ts';
import { VNI_OPTION } from './options.ts';
import { networkWish, type NetworkWish } from './wish.ts';

export type CreateContext = Pick<
  ControlContext,
  'cluster' | 'clock' | 'random' | 'managers' | 'localNetwork' | 'hostSubnets'
>;

/**
 * Makes an overlay network: a name, subnets and a VNI that no other network of the swarm has. Nodes make it when
 * something of theirs is in it.
 */
export async function createNetwork(
  context: CreateContext,
  request: NetworkCreateRequest,
): Promise<NetworkCreateResponse> {
  const wish = networkWish(request);
  const id = newSwarmId(context.random);
  await write(context, {
    decide: () => decideNetwork(context, id, wish),
    attempts: limits.swarmNetworkAttempts,
  });
  return { Id: id, Warning: overlapWarning(wish, nodeSubnets(context.cluster)) };
}

/** Throws conflict for a name that is taken, here on the manager's own host, too. */
export function decideNetwork(context: CreateContext, id: string, wish: NetworkWish): Decision<void> {
  const { cluster, localNetwork, hostSubnets } = context;
  const name = nameKey('network', wish.name);
  if (cluster.value(name) !== undefined || localNetwork(wish.name)?.name === wish.name) {
    throw conflict(`network with name ${wish.name} already exists`);
  }
  const present = ingressOf(cluster);
  if (wish.ingress && present !== undefined) {
    throw rpcError('AlreadyExists', `ingress network (${present.id}) is already present`);
  }
  const allocation = cluster.value(NETWORK_ALLOCATION_KEY);
  const nodes = nodeSubnets(cluster).flatMap(({ subnets }) => subnets);
  const taken = takenIn(cluster, [...hostSubnets(), ...nodes]);
  const record = networkRecord({ id, now: nowMs(context), wish, taken });
  const lastVni = wish.vni === undefined ? (record.overlay?.vni ?? 0) : taken.lastVni;
  return {
    conditions: [
      { key: name, revision: 0 },
      { key: NETWORK_ALLOCATION_KEY, revision: allocation?.revision ?? 0 },
    ],
    parts: [put('network', record)],
    values: [
      { kind: 'put', key: name, value: Buffer.from(id) },
      allocationWrite(lastVni),
      ...(wish.ingress ? [{ kind: 'delete' as const, key: NO_INGRESS_KEY }] : []),
    ],
    answer: undefined,
  };
}

/** The network with all that is chosen for it. Pure. */
export function networkRecord({
  id,
  now,
  wish,
  taken,
}: {
  id: string;
  now: number;
  wish: NetworkWish;
  taken: Taken;
}): NetworkRecord {
  const { name, labels, ingress, attachable, internal, ipv6 } = wish;
  const vni = chooseVni(wish, taken);
  return {
    id,
    created: now,
    updated: now,
    name,
    labels,
    driver: 'overlay',
    ingress,
    attachable,
    overlay: {
      options: { ...wish.options, [VNI_OPTION]: String(vni) },
      internal,
      ipv6,
      ipam: { driver: 'default', options: null, config: chooseSubnets(wish, taken) },
      vni,
    },
  };
}

export function allocationWrite(lastVni: number): { kind: 'put'; key: string; value: Buffer } {
  return { kind: 'put', key: NETWORK_ALLOCATION_KEY, value: Buffer.from(JSON.stringify({ lastVni })) };
}

function takenIn(cluster: Cluster, hostSubnets: readonly string[]): Taken {
  const { state } = cluster;
  if (state.cluster === undefined) {
    // It is written with the first manager.
    throw rpcError('Unavailable', 'the swarm itself is not known here yet');
  }
  const entry = cluster.value(NETWORK_ALLOCATION_KEY);
  // Written as above.
  const { lastVni } = entry ? (JSON.parse(entry.value.toString()) as { lastVni: number }) : { lastVni: 0 };
  return {
    cluster: state.cluster,
    networks: [...state.networks.values()],
    hosts: [...state.nodes.values()].flatMap(({ state: node }) => [node?.addr ?? '', node?.dataAddr ?? '']),
    hostSubnets,
    lastVni,
  };
}
