import type { Filters } from '../../../api/types/requests.ts';
import type { ConfigInspect } from '../../../api/types/swarm/config.ts';
import type { SecretInspect } from '../../../api/types/swarm/secret.ts';
import { sealedKey } from '../../objects/values.ts';
import { checkFilters, fitsLabels, fitsPrefix } from '../base/filters.ts';
import { headOf } from '../base/head.ts';
import type { ControlContext } from '../context.ts';
import { recordsOf, type DataKind, type DataRecord } from './kinds.ts';

type Context = Pick<ControlContext, 'cluster' | 'sealer'>;

const KEYS: Readonly<Record<DataKind, readonly string[]>> = {
  secret: ['id', 'name', 'names', 'label'],
  config: ['id', 'name', 'label'],
};

/** A secret as clients read it: never its data. */
export function secretView({ cluster }: Pick<Context, 'cluster'>, record: DataRecord): SecretInspect {
  return {
    ...headOf(record, cluster.revisionOf('secret', record.id)),
    Spec: { ...record.spec, Labels: record.spec.Labels ?? {} },
  };
}

/** A config as clients read it, with its data. */
export function configView({ cluster, sealer }: Context, record: DataRecord): ConfigInspect {
  const key = sealedKey.config(record.id);
  const entry = cluster.value(key);
  return {
    ...headOf(record, cluster.revisionOf('config', record.id)),
    Spec: {
      ...record.spec,
      Labels: record.spec.Labels ?? {},
      ...(entry ? { Data: sealer.open(key, entry.value).toString('base64') } : {}),
    },
  };
}

/** Throws invalid_argument for a filter that the kind does not have. One of ids and names has to fit. */
export function filteredData(
  { cluster }: Pick<Context, 'cluster'>,
  kind: DataKind,
  filters: Filters,
): DataRecord[] {
  checkFilters(filters, KEYS[kind]);
  const named = ['id', 'name', 'names'].filter((key) => filters.has(key));
  return [...recordsOf(cluster, kind).values()].filter(
    (record) =>
      fitsLabels(filters, 'label', record.spec.Labels) &&
      (named.length === 0 || named.some((key) => fitsName(record, key, filters))),
  );
}

function fitsName({ id, spec: { Name: name = '' } }: DataRecord, key: string, filters: Filters): boolean {
  if (key === 'names') {
    return filters.get(key)?.includes(name) ?? false;
  }
  return fitsPrefix(filters, key, key === 'id' ? id : name);
}
