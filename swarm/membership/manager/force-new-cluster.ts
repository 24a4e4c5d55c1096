import type { Clock } from '../../../daemon/base/clock.ts';
import type { Identity } from '../../ca/identity.ts';
import type { StoreIdentity } from '../../ca/keys/key-file.ts';
import type { Cluster, ClusterCommit } from '../../cluster/cluster.ts';
import { put } from '../../objects/parts.ts';
import { EPOCH_KEY } from '../../objects/values.ts';
import type { Keyring } from '../../store/sealed.ts';
import { nowMs } from './authority.ts';
import { sealedWrite } from './sealed-values.ts';
import { newStoreAuthority, newStoreIdentity } from './store-identity.ts';

/**
 * What is written when a manager goes on alone: the others are workers, the store's own connections have a new
 * authority, so that a manager that comes back from before cannot reach it, and the epoch is a new one.
 */
export function takeOver(
  cluster: Cluster,
  { own, keyring, clock, peerUrl }: { own: Identity; keyring: Keyring; clock: Clock; peerUrl: string },
): { writes: ClusterCommit[]; identity: StoreIdentity } {
  const now = nowMs(clock);
  const authority = newStoreAuthority(now);
  const writes: ClusterCommit[] = [];
  for (const { id, record, state } of cluster.state.nodes.values()) {
    if (id !== own.node && (record?.spec.Role === 'manager' || state?.role === 'manager')) {
      writes.push({
        conditions: [],
        parts: [
          ...(record === undefined
            ? []
            : [put('node', { ...record, updated: now, spec: { ...record.spec, Role: 'worker' } })]),
          ...(state === undefined ? [] : [put('nodeState', { ...state, role: 'worker' })]),
        ],
      });
    }
  }
  const others = [...cluster.values('manager/')].filter(({ key }) => key !== `manager/${own.node}`);
  const epoch = Number(cluster.value(EPOCH_KEY)?.value.toString() ?? 0) + 1;
  writes.push({
    conditions: [],
    values: [
      ...others.map(({ key }) => ({ kind: 'delete' as const, key })),
      sealedWrite(keyring, 'storeAuthority', authority),
      { kind: 'put', key: EPOCH_KEY, value: Buffer.from(String(epoch)) },
    ],
  });
  return { writes, identity: newStoreIdentity(authority, { identity: own, now, peerUrl }) };
}
