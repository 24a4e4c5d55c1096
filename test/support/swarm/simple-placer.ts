import { put, type Write } from '../../../swarm/objects/parts.ts';
import { nodeFits } from '../../../swarm/planner/placement/node-fits.ts';
import type { Placer } from '../../../swarm/planner/planner.ts';
import type { ClusterState } from '../../../swarm/planner/state/cluster-state.ts';
import { isAlive, takesTasks } from '../../../swarm/planner/state/observed.ts';

export class SimplePlacer implements Placer {
  plan(state: ClusterState, now: number): Write[] {
    const counts = new Map(
      [...state.nodes.values()].map((node) => [node.id, [...node.tasks].filter(isAlive).length]),
    );
    const writes: Write[] = [];
    for (const { record } of state.unassigned) {
      const service = state.services.get(record.service)?.record;
      const fitting = [...state.nodes.values()].filter(
        (node) =>
          takesTasks(node) &&
          (record.pinned ?? node.id) === node.id &&
          service !== undefined &&
          nodeFits(service, node),
      );
      const [best] = fitting.toSorted((a, b) => (counts.get(a.id) ?? 0) - (counts.get(b.id) ?? 0));
      if (best !== undefined && record.refusal?.state !== 0) {
        const { refusal: _refusal, ...rest } = record;
        counts.set(best.id, (counts.get(best.id) ?? 0) + 1);
        writes.push(put('task', { ...rest, node: best.id, updated: now }));
      }
    }
    return writes;
  }
}
