import type { ServiceRecord } from '../../objects/service.ts';
import type { Node } from '../state/entries.ts';
import { constraintsFit, parseConstraints, type Constraint } from './constraint.ts';
import { traitsOf } from './traits.ts';

/** Read once per record: a service is asked about for every node. */
const constraintsOfRecord = new WeakMap<ServiceRecord, readonly Constraint[] | 'none understands them'>();

/** Whether a node meets the constraints that a service has now; resources and the rest are the scheduler's. */
export function nodeFits(service: ServiceRecord, node: Node | undefined): boolean {
  const constraints = constraintsOf(service);
  if (typeof constraints === 'string' || node === undefined) {
    return false;
  }
  return constraints.length === 0 || constraintsFit(constraints, traitsOf(node));
}

function constraintsOf(service: ServiceRecord): readonly Constraint[] | 'none understands them' {
  const known = constraintsOfRecord.get(service);
  if (known !== undefined) {
    return known;
  }
  let constraints: readonly Constraint[] | 'none understands them';
  try {
    constraints = parseConstraints(service.spec.TaskTemplate?.Placement?.Constraints ?? []);
  } catch {
    // The API refuses such; one that is there all the same fits no node and must not stop the others.
    constraints = 'none understands them';
  }
  constraintsOfRecord.set(service, constraints);
  return constraints;
}
