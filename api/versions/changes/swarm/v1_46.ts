import { change } from '../../change.ts';
import { TASK_SPEC_ROUTES, newFields, ofContainers } from './fields.ts';

const oomScore = change({
  id: 'service-oom-score-adj',
  since: 46,
  routes: TASK_SPEC_ROUTES,
  description: 'ContainerSpec has OomScoreAdj.',
  ...newFields(ofContainers('OomScoreAdj')),
});

const tmpfsOptions = change({
  id: 'service-tmpfs-options',
  since: 46,
  routes: TASK_SPEC_ROUTES,
  description: 'Mounts of type tmpfs of a ContainerSpec take TmpfsOptions.Options.',
  ...newFields(ofContainers('Mounts.TmpfsOptions.Options')),
});

export const changes = [oomScore, tmpfsOptions];
