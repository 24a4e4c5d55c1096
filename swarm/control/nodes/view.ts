import type { NodeDescription, NodeInspect, NodeState } from '../../../api/types/swarm/node.ts';
import { headOf } from '../base/head.ts';
import type { ControlContext } from '../context.ts';
import type { ManagerMember } from '../ports.ts';
import type { KnownNode } from './find.ts';

type Context = Pick<ControlContext, 'cluster' | 'managers' | 'markOf'>;

/** Members of the store by their node. */
export function membersOf({ managers }: Pick<Context, 'managers'>): ReadonlyMap<string, ManagerMember> {
  return new Map(managers.list().map((member) => [member.node, member]));
}

/** A node as clients read it, from memory. */
export function nodeView(
  context: Context,
  node: KnownNode,
  members: ReadonlyMap<string, ManagerMember>,
): NodeInspect {
  const { id, record, state, description } = node;
  const { State, Message } = stateOfNode(context, node);
  const member = members.get(id);
  return {
    ...headOf(record, context.cluster.revisionOf('node', id)),
    Spec: { ...record.spec, Labels: record.spec.Labels ?? {} },
    Description: descriptionView(description),
    Status: {
      State,
      ...(Message === '' ? {} : { Message }),
      ...(state?.addr ? { Addr: state.addr } : {}),
    },
    ...(member && {
      ManagerStatus: {
        ...(member.isLeader ? { Leader: true as const } : {}),
        Reachability: member.reachability,
        Addr: member.addr,
      },
    }),
  };
}

/** What is known of it now: what only the leader knows comes first. */
export function stateOfNode(
  { markOf }: Pick<Context, 'markOf'>,
  { id, state }: KnownNode,
): { State: NodeState; Message: string } {
  const { state: State = 'unknown', message = '' } = markOf(id) ?? state ?? {};
  return { State, Message: message };
}

function descriptionView(description: NodeDescription = {}): NodeDescription {
  return {
    ...description,
    Platform: description.Platform ?? {},
    Resources: description.Resources ?? {},
    Engine: description.Engine ?? {},
    TLSInfo: description.TLSInfo ?? {},
  };
}
