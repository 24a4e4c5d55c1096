import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files of over a minute. One that began last would keep one processor busy while the other has nothing to do. */
const LONGEST = [
  'clients/hub/pages',
  'clients/swarm/libraries',
  'clients/swarm/services',
  'clients/swarm/tasks',
  'contract/hub/registry',
  'contract/storage/images',
  'faults/failed-requests',
  'faults/gone-clients',
  'faults/kill-at-each-failpoint',
  'system/daemon/disk-outage',
].map((name) => `test/${name}.test.ts`);

function isLong({ moduleId }: TestSpecification): boolean {
  return LONGEST.some((name) => moduleId.endsWith(`/${name}`));
}

/** Begins with the longest; the others follow as vitest has them. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await BaseSequencer.prototype.sort.call(this, files);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}
