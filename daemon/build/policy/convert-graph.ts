import { EngineError, isEngineError } from '../../base/errors.ts';
import { inOrder, unify } from '../graph/unify.ts';
import type { Op, Vertex } from '../graph/op.ts';
import type { GraphOwner } from '../llb/owner.ts';
import { sourceOf } from '../llb/source.ts';
import { evaluated } from './evaluate.ts';
import { nameSource } from './name-source.ts';
import { asTheyAre } from './named-source.ts';

/**
 * A graph with the sources that a policy puts in place of its own; what two vertices stand on stays one. Pure. Throws
 * what the policy throws, with the lines of the vertex as `details.line` and `details.endLine`, and what sources throw
 * that are none.
 */
export function convertGraph(target: Vertex | undefined, owner: GraphOwner): Vertex | undefined {
  if (owner.convert === asTheyAre || target === undefined) {
    return target;
  }
  const made = new Map<Vertex, Vertex>();
  for (const vertex of inOrder([target])) {
    const op = located(vertex, () => convertOp(vertex.op, owner));
    const inputs = vertex.inputs.map((input) => input && (made.get(input) ?? input));
    const isSame = op === vertex.op && inputs.every((input, at) => input === vertex.inputs[at]);
    made.set(vertex, isSame ? vertex : { ...vertex, op, inputs });
  }
  const converted = made.get(target);
  // Two sources may have become one.
  return converted === target ? target : unify([converted])[0];
}

/** The same operation where nobody minds. Throws as `convertGraph`. */
export function convertOp(op: Op, owner: GraphOwner): Op {
  const named = nameSource(op);
  if (named === undefined) {
    return op;
  }
  const converted = evaluated(named, owner.convert);
  if (converted === named) {
    return op;
  }
  // Whose it is stays as it was.
  return sourceOf(converted, {
    ...owner,
    ...('session' in op && { session: op.session }),
    ...('platform' in op && { platform: op.platform }),
    ...(op.kind === 'local' && { sharedKey: op.sharedKey }),
  });
}

function located<T>({ lines }: Vertex, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (lines === undefined || !isEngineError(error)) {
      throw error;
    }
    const details = { ...error.details, line: lines.from, endLine: lines.to };
    throw new EngineError(error.code, error.message, { cause: error, details });
  }
}
