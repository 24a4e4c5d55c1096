import type { ConfigSpec } from '../../../api/types/swarm/config.ts';
import type { SecretSpec } from '../../../api/types/swarm/secret.ts';
import { limits } from '../../../daemon/base/limits.ts';
import type { Cluster } from '../../cluster/cluster.ts';
import type { ConfigRecord } from '../../objects/config.ts';
import type { SecretRecord } from '../../objects/secret.ts';
import { nameKey } from '../../objects/values.ts';
import { rpcError } from '../base/rpc-error.ts';
import { lookUp } from '../base/look-up.ts';

/** Secrets and configs: what is done with one is done with the other, but for who may read the data. */
export type DataKind = 'secret' | 'config';

/** A record of either kind; a config's specification has no driver. */
export type DataRecord = SecretRecord | ConfigRecord;
export type DataSpec = SecretSpec & ConfigSpec;
export type DataRequest = DataSpec & { Data?: string | null };

const BYTES_MAX = { secret: limits.swarmSecretBytesMax, config: limits.swarmConfigBytesMax };

export function recordsOf({ state }: Cluster, kind: DataKind): ReadonlyMap<string, DataRecord> {
  return kind === 'secret' ? state.secrets : state.configs;
}

/** The object of an id, a name or the beginning of an id. */
export function findData(cluster: Cluster, kind: DataKind, ref: string): DataRecord {
  const records = recordsOf(cluster, kind);
  return lookUp(kind, ref, {
    byId: (id) => records.get(id),
    byName: (name) => {
      const id = cluster.value(nameKey(kind, name))?.value.toString() ?? '';
      const record = records.get(id);
      return record === undefined ? [] : [record];
    },
    ids: () => records.keys(),
  });
}

/** It may have been removed since it was looked up. */
export function knownData(cluster: Cluster, kind: DataKind, id: string): DataRecord {
  const record = recordsOf(cluster, kind).get(id);
  if (record === undefined) {
    throw rpcError('NotFound', `${kind} ${id} not found`);
  }
  return record;
}

/** Throws in swarmkit's words. */
export function checkSize(kind: DataKind, data: Buffer): void {
  if (data.length < 1 || data.length >= BYTES_MAX[kind]) {
    throw rpcError(
      'InvalidArgument',
      `${kind} data must be larger than 0 and less than ${BYTES_MAX[kind]} bytes`,
    );
  }
}
