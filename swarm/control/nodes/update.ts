import type { NodeSpec } from '../../../api/types/swarm/node.ts';
import { invalidArgument } from '../../../daemon/base/errors.ts';
import { put } from '../../objects/parts.ts';
import { rpcError } from '../base/rpc-error.ts';
import { checkVersion, unchanged, write } from '../base/write.ts';
import { nowMs, type ControlContext } from '../context.ts';
import { findNode, isKnown, knownNodes, type KnownNode } from './find.ts';
import { membersOf } from './view.ts';

const ROLES: readonly string[] = ['worker', 'manager'];
const AVAILABILITIES: readonly string[] = ['active', 'pause', 'drain'];

/** Replaces what is wanted of a node. Its certificate, and its part among the managers, follow its role. */
export async function updateNode(
  context: ControlContext,
  ref: string,
  version: number,
  sent: NodeSpec,
): Promise<void> {
  const { cluster } = context;
  const spec = normaliseNodeSpec(sent);
  const { id } = findNode(cluster, ref);
  await write(context, {
    decide: async () => {
      const { record } = knownNode(context, id);
      if (record.spec.Role === 'manager' && spec.Role === 'worker') {
        checkDemotion(context, id);
      }
      await checkVersion(context, version, 'node', id);
      return {
        conditions: [unchanged(cluster, 'node', id)],
        parts: [put('node', { ...record, spec, updated: nowMs(context) })],
        answer: undefined,
      };
    },
  });
}

/** It may have been removed since it was looked up. */
export function knownNode({ cluster }: Pick<ControlContext, 'cluster'>, id: string): KnownNode {
  const node = cluster.state.nodes.get(id);
  if (!isKnown(node)) {
    throw rpcError('NotFound', `node ${id} not found`);
  }
  return node;
}

/** Throws invalid_argument, without a prefix as dockerd reads these itself. Pure. */
function normaliseNodeSpec(sent: NodeSpec): NodeSpec {
  const role = lowerCased(sent.Role);
  const availability = lowerCased(sent.Availability);
  if (!ROLES.includes(role)) {
    throw invalidArgument(`invalid Role: ${JSON.stringify(sent.Role ?? '')}`);
  }
  if (!AVAILABILITIES.includes(availability)) {
    throw invalidArgument(`invalid Availability: ${JSON.stringify(sent.Availability ?? '')}`);
  }
  return {
    ...(sent.Name ? { Name: sent.Name } : {}),
    Labels: sent.Labels ?? {},
    // A member of the list above.
    Role: role as NodeSpec['Role'],
    // A member of the list above.
    Availability: availability as NodeSpec['Availability'],
  };
}

function lowerCased(word: string | undefined): string {
  return (word ?? '').toLowerCase();
}

/** A manager may go only where those that stay can still agree. Throws in swarmkit's words. */
function checkDemotion(context: ControlContext, id: string): void {
  const managers = [...knownNodes(context.cluster)].filter(({ record }) => record.spec.Role === 'manager');
  if (managers.length === 1) {
    throw rpcError('FailedPrecondition', 'attempting to demote the last manager of the swarm');
  }
  const members = membersOf(context);
  if (!members.has(id)) {
    return;
  }
  const others = [...members.values()].filter(({ node }) => node !== id);
  const reachable = others.filter(({ reachability }) => reachability === 'reachable');
  if (reachable.length < Math.floor(others.length / 2) + 1) {
    throw rpcError(
      'FailedPrecondition',
      "can't remove member from the raft: this would result in a loss of quorum",
    );
  }
}
