import { change } from '../../change.ts';
import { SERVICE_ROUTES, TASK_SPEC_ROUTES, newFields, ofContainers, ofService } from './fields.ts';

const privileges = change({
  id: 'container-spec-privileges',
  since: 29,
  routes: TASK_SPEC_ROUTES,
  description: 'ContainerSpec has Privileges.',
  ...newFields(ofContainers('Privileges')),
});

const order = change({
  id: 'service-update-order',
  since: 29,
  routes: SERVICE_ROUTES,
  description: 'UpdateConfig and RollbackConfig have an Order.',
  ...newFields(ofService('UpdateConfig.Order', 'RollbackConfig.Order')),
});

const insertDefaults = change({
  id: 'service-insert-defaults',
  since: 29,
  routes: ['service.inspect'],
  description: 'GET /services/{id} takes insertDefaults.',
  request: ({ query }) => query.delete('insertDefaults'),
});

export const changes = [privileges, order, insertDefaults];
