import { remove } from '../../objects/parts.ts';
import { rpcError } from '../base/rpc-error.ts';
import { unchanged, write } from '../base/write.ts';
import type { ControlContext } from '../context.ts';
import { findNode } from './find.ts';
import { knownNode } from './update.ts';
import { membersOf, stateOfNode } from './view.ts';

/** Forgets a node, whose certificate is not taken any more; the planner ends its tasks. */
export async function removeNode(
  context: ControlContext,
  ref: string,
  { force }: { force: boolean },
): Promise<void> {
  const { cluster, root } = context;
  const { id } = findNode(cluster, ref);
  await write(context, {
    decide: () => {
      const node = knownNode(context, id);
      if (node.record.spec.Role === 'manager' && membersOf(context).has(id)) {
        throw rpcError(
          'FailedPrecondition',
          `node ${id} is a cluster manager and is a member of the raft cluster. It must be demoted to worker before ` +
            'removal',
        );
      }
      if (!force && stateOfNode(context, node).State === 'ready') {
        throw rpcError('FailedPrecondition', `node ${id} is not down and can't be removed`);
      }
      return {
        conditions: [unchanged(cluster, 'node', id)],
        parts: [remove('node', id), remove('nodeState', id), remove('nodeDescription', id)],
        values: root.removalOf(id),
        answer: undefined,
      };
    },
  });
}
