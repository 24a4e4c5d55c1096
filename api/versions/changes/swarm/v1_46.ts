import { change } from '../../change.ts';
import { TASK_SPEC_ROUTES, newFields, ofContainers } from './fields.ts';

const oomScore = change({
  id: 'service-oom-score-adj',
  since: 46,
  routes: TASK_SPEC_ROUTES,
  description: 'ContainerSpec has OomScoreAdj.',
  ...newFields(ofContainers('OomScoreAdj')),
});

export const changes = [oomScore];
