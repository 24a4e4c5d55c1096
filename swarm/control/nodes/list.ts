import type { Filters } from '../../../api/types/requests.ts';
import type { NodeInspect } from '../../../api/types/swarm/node.ts';
import { invalidArgument } from '../../../daemon/base/errors.ts';
import { checkFilters, fits, fitsLabels, fitsPrefix } from '../base/filters.ts';
import type { ControlContext } from '../context.ts';
import { knownNodes, type KnownNode } from './find.ts';
import { membersOf, nodeView } from './view.ts';

const KEYS = ['id', 'name', 'label', 'node.label', 'role', 'membership'];
const ROLES = ['worker', 'manager'];
const MEMBERSHIPS = ['accepted', 'pending'];

/** Throws invalid_argument for a filter that nodes do not have, and for a role or membership that there is not. */
export function listNodes(
  context: Pick<ControlContext, 'cluster' | 'managers' | 'markOf'>,
  filters: Filters,
): NodeInspect[] {
  checkFilters(filters, KEYS);
  checkValues(filters, 'role', ROLES);
  checkValues(filters, 'membership', MEMBERSHIPS);
  const members = membersOf(context);
  return [...knownNodes(context.cluster)]
    .filter((node) => matches(node, filters))
    .map((node) => nodeView(context, node, members));
}

function matches({ id, record: { spec }, description }: KnownNode, filters: Filters): boolean {
  return (
    fitsPrefix(filters, 'id', id) &&
    fitsPrefix(filters, 'name', description?.Hostname ?? '') &&
    fitsLabels(filters, 'label', description?.Engine?.Labels) &&
    fitsLabels(filters, 'node.label', spec.Labels) &&
    fits(filters, 'role', (role) => spec.Role === role.toLowerCase()) &&
    // A node is one only once it has been accepted.
    fits(filters, 'membership', (membership) => membership.toLowerCase() === 'accepted')
  );
}

function checkValues(filters: Filters, key: string, known: readonly string[]): void {
  const wrong = filters.get(key)?.find((value) => !known.includes(value.toLowerCase()));
  if (wrong !== undefined) {
    throw invalidArgument(`Invalid ${key} filter: '${wrong}'`);
  }
}
