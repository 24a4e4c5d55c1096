import type { HistoryRecord } from '../../../api/types/build/history.ts';
import type { BuildUpdate, BuildVertex } from '../../../api/types/build/status.ts';

/** Each step as it was told last, in the order in which they were told first. Pure. */
export function lastVertices(updates: readonly BuildUpdate[]): BuildVertex[] {
  const vertices = new Map<string, BuildVertex>();
  for (const { vertexes } of updates) {
    vertexes.forEach((vertex) => vertices.set(vertex.digest, vertex));
  }
  return [...vertices.values()];
}

/** Pure. */
export function countSteps(updates: readonly BuildUpdate[]): Pick<HistoryRecord, 'steps' | 'warnings'> {
  const vertices = lastVertices(updates);
  return {
    steps: {
      total: vertices.length,
      completed: vertices.filter(({ completed }) => completed !== undefined).length,
      cached: vertices.filter(({ cached }) => cached).length,
    },
    warnings: updates.reduce((sum, { warnings }) => sum + warnings.length, 0),
  };
}
