import { DefinitionKeys } from './key.ts';
import type { Vertex } from './op.ts';

/**
 * The same graph with one vertex for each key: two stages may begin with the same steps. What is to be made anew in one
 * of them is so for all of them; otherwise one would take from the cache what the other makes. The first of equals
 * gives the name. Pure; circles there are none.
 */
export function unify(targets: readonly (Vertex | undefined)[]): (Vertex | undefined)[] {
  const keys = new DefinitionKeys();
  const order = inOrder(targets);
  const fresh = new Set(order.filter((vertex) => vertex.isFresh === true).map((vertex) => keys.of(vertex)));
  const made = new Map<string, Vertex>();
  const madeOf = (vertex: Vertex | undefined): Vertex | undefined =>
    vertex === undefined ? undefined : made.get(keys.of(vertex));
  for (const vertex of order) {
    const key = keys.of(vertex);
    if (!made.has(key)) {
      const inputs = vertex.inputs.map(madeOf);
      made.set(key, { ...vertex, inputs, ...(fresh.has(key) && { isFresh: true }) });
    }
  }
  return targets.map(madeOf);
}

/** Inputs before what has them, each once. Pure; circles there are none. */
export function inOrder(targets: readonly (Vertex | undefined)[]): Vertex[] {
  const order = new Set<Vertex>();
  // By a list instead of calls within calls, as where keys are made.
  const open = targets.flatMap((target) => target ?? []).toReversed();
  for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
    const missing = top.inputs.flatMap((input) => (input === undefined || order.has(input) ? [] : [input]));
    if (missing.length === 0) {
      order.add(top);
      open.pop();
    }
    open.push(...missing.toReversed());
  }
  return [...order];
}
