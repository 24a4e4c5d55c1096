import { change } from '../../change.ts';
import { TASK_SPEC_ROUTES, newFields, ofTasks } from './fields.ts';

const swap = change({
  id: 'service-swap',
  since: 52,
  routes: TASK_SPEC_ROUTES,
  description: 'Resources of a TaskTemplate have SwapBytes and MemorySwappiness.',
  ...newFields(ofTasks('Resources.SwapBytes', 'Resources.MemorySwappiness')),
});

export const changes = [swap];
