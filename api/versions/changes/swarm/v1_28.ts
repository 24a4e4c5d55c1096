import { change } from '../../change.ts';
import { SERVICE_ROUTES, TASK_SPEC_ROUTES, newFields, ofContainers, ofService, ofTasks } from './fields.ts';

const containerSpec = change({
  id: 'container-spec-1.28',
  since: 28,
  routes: TASK_SPEC_ROUTES,
  description: 'ContainerSpec has ReadOnly and StopSignal, Placement has Preferences.',
  ...newFields(ofContainers('ReadOnly', 'StopSignal'), ofTasks('Placement.Preferences')),
});

const rollbackConfig = change({
  id: 'service-rollback-config',
  since: 28,
  routes: SERVICE_ROUTES,
  description: 'Services have a RollbackConfig.',
  ...newFields(ofService('RollbackConfig')),
});

const rollback = change({
  id: 'service-rollback',
  since: 28,
  routes: ['service.update'],
  description:
    'POST /services/{id}/update takes rollback. Older clients send the specification to go back to.',
  request: ({ query }) => query.delete('rollback'),
});

export const changes = [containerSpec, rollbackConfig, rollback];
