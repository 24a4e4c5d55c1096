import { isDeepStrictEqual } from 'node:util';
import type { ServiceRecord, TemplateRecord } from '../../objects/service.ts';
import { nodeFits } from '../placement/node-fits.ts';
import type { ClusterState } from '../state/cluster-state.ts';
import type { Service, Task } from '../state/entries.ts';

type Difference = 'none' | 'placement' | 'other';

/** What two templates differ in. Compared once, as a service has as many tasks as it has slots. */
const differences = new WeakMap<TemplateRecord, WeakMap<TemplateRecord, Difference>>();

/**
 * Whether a task has to be replaced for the service to be as specified. It has not where only the placement differs and
 * its node fits still. Pure.
 */
export function isDirty(state: ClusterState, service: Service, record: ServiceRecord, task: Task): boolean {
  if (task.record.template === record.template) {
    return false;
  }
  const [own, wanted] = [task.record.template, record.template].map((revision) =>
    service.templates.get(revision),
  );
  if (own === undefined || wanted === undefined) {
    return true;
  }
  const difference = differenceOf(own, wanted);
  if (difference === 'placement') {
    const node = task.record.node ?? task.record.pinned;
    return node === undefined || !nodeFits(record, state.nodes.get(node));
  }
  return difference === 'other';
}

function differenceOf(own: TemplateRecord, wanted: TemplateRecord): Difference {
  let known = differences.get(own);
  if (known === undefined) {
    known = new WeakMap();
    differences.set(own, known);
  }
  let difference = known.get(wanted);
  if (difference === undefined) {
    difference = compare(own, wanted);
    known.set(wanted, difference);
  }
  return difference;
}

function compare(own: TemplateRecord, wanted: TemplateRecord): Difference {
  if (!isDeepStrictEqual(own.endpoint, wanted.endpoint)) {
    return 'other';
  }
  const { Placement: ownPlacement, ...ownRest } = own.task;
  const { Placement: wantedPlacement, ...wantedRest } = wanted.task;
  if (!isDeepStrictEqual(ownRest, wantedRest)) {
    return 'other';
  }
  return isDeepStrictEqual(ownPlacement, wantedPlacement) ? 'none' : 'placement';
}
