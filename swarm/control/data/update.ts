import { isDeepStrictEqual } from 'node:util';
import { put } from '../../objects/parts.ts';
import { sealedKey } from '../../objects/values.ts';
import { rpcError } from '../base/rpc-error.ts';
import { checkVersion, unchanged, write } from '../base/write.ts';
import { nowMs, type ControlContext } from '../context.ts';
import { decodeData } from './create.ts';
import { findData, knownData, type DataKind, type DataRecord, type DataRequest } from './kinds.ts';

/** Replaces the labels; everything else is what tasks rely on, and stays. */
export async function updateData(
  context: ControlContext,
  kind: DataKind,
  { ref, version }: { ref: string; version: number },
  sent: DataRequest,
): Promise<void> {
  const { cluster } = context;
  const { id } = findData(cluster, kind, ref);
  await write(context, {
    decide: async () => {
      const record = knownData(cluster, kind, id);
      if (!isSame(context, kind, record, sent)) {
        throw rpcError('InvalidArgument', 'only updates to Labels are allowed');
      }
      await checkVersion(context, version, kind, id);
      const spec = { ...record.spec, Labels: sent.Labels ?? {} };
      return {
        conditions: [unchanged(cluster, kind, id)],
        parts: [put(kind, { ...record, spec, updated: nowMs(context) })],
        answer: undefined,
      };
    },
  });
}

/** A secret's data need not be sent, as clients cannot read it. */
function isSame(
  { cluster, sealer }: ControlContext,
  kind: DataKind,
  { id, spec }: DataRecord,
  { Data: sent, Labels: _labels, ...rest }: DataRequest,
): boolean {
  const { Labels: _own, ...own } = spec;
  if (!isDeepStrictEqual(filled(rest), filled(own))) {
    return false;
  }
  if (kind === 'secret' && (sent === undefined || sent === null)) {
    return true;
  }
  const key = sealedKey[kind](id);
  const entry = cluster.value(key);
  return entry !== undefined && sealer.open(key, entry.value).equals(decodeData(sent));
}

/** Null and empty are "not set". */
function filled(spec: object): object {
  return Object.fromEntries(
    Object.entries(spec).filter(([, value]) => value !== null && value !== undefined && value !== ''),
  );
}
