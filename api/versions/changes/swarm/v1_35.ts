import { change } from '../../change.ts';
import { TASK_SPEC_ROUTES, newFields, ofContainers } from './fields.ts';

const isolation = change({
  id: 'container-spec-isolation',
  since: 35,
  routes: TASK_SPEC_ROUTES,
  description: 'ContainerSpec has Isolation.',
  ...newFields(ofContainers('Isolation')),
});

export const changes = [isolation];
