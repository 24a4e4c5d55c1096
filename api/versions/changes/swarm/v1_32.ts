import { change } from '../../change.ts';
import { TASK_SPEC_ROUTES, newFields, ofTasks, told } from './fields.ts';

const reserved = change({
  id: 'generic-resources',
  since: 32,
  routes: TASK_SPEC_ROUTES,
  description: 'Resources.Reservations has GenericResources, and tasks tell those that they got.',
  ...newFields(ofTasks('Resources.Reservations.GenericResources'), told('GenericResources')),
});

const offered = change({
  id: 'node-generic-resources',
  since: 32,
  routes: ['node.list', 'node.inspect'],
  description: 'Nodes tell GenericResources.',
  ...newFields(told('Description.Resources.GenericResources')),
});

export const changes = [reserved, offered];
