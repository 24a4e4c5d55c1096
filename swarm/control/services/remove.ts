import { remove } from '../../objects/parts.ts';
import { nameKey } from '../../objects/values.ts';
import { unchanged, write } from '../base/write.ts';
import type { ControlContext } from '../context.ts';
import { writeCredentials } from './credentials.ts';
import { findService } from './find.ts';
import { knownService } from './update.ts';

/** Its name is free at once; the planner ends its tasks, and forgets what they ran with the last of them. */
export async function removeService(context: ControlContext, ref: string): Promise<void> {
  const { cluster } = context;
  const { id } = findService(cluster, ref);
  await write(context, {
    decide: () => {
      const { record, previous } = knownService(context, id);
      return {
        conditions: [unchanged(cluster, 'service', id)],
        parts: [remove('service', id), ...(previous ? [remove('previousService', id)] : [])],
        values: [
          { kind: 'delete', key: nameKey('service', record.spec.Name ?? '') },
          ...writeCredentials(context, id, { current: undefined, previous: undefined }),
        ],
        answer: undefined,
      };
    },
  });
}
