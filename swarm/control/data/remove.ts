import { remove } from '../../objects/parts.ts';
import { nameKey, sealedKey } from '../../objects/values.ts';
import { rpcError } from '../base/rpc-error.ts';
import { unchanged, write } from '../base/write.ts';
import type { ControlContext } from '../context.ts';
import { findData, knownData, type DataKind } from './kinds.ts';

/** Refused while a service names it. Tasks that still run have what they were given. */
export async function removeData(context: ControlContext, kind: DataKind, ref: string): Promise<void> {
  const { cluster } = context;
  const { id } = findData(cluster, kind, ref);
  await write(context, {
    decide: () => {
      const { spec } = knownData(cluster, kind, id);
      const users = [...cluster.state.usersOf(id)].map(({ record }) => record?.spec.Name ?? '').toSorted();
      if (users.length > 0) {
        const services = users.length > 1 ? 'services' : 'service';
        throw rpcError(
          'InvalidArgument',
          `${kind} '${spec.Name}' is in use by the following ${services}: ${users.join(', ')}`,
        );
      }
      // A service that begins to use it meanwhile writes the name anew: then this is decided again.
      const name = nameKey(kind, spec.Name ?? '');
      return {
        conditions: [
          unchanged(cluster, kind, id),
          { key: name, revision: cluster.value(name)?.revision ?? 0 },
        ],
        parts: [remove(kind, id)],
        values: [
          { kind: 'delete', key: name },
          { kind: 'delete', key: sealedKey[kind](id) },
        ],
        answer: undefined,
      };
    },
  });
}
