import { change } from '../../change.ts';
import {
  SERVICE_ROUTES,
  TASK_SPEC_ROUTES,
  newFields,
  ofContainers,
  ofService,
  ofTasks,
  told,
} from './fields.ts';

const taskSpec = change({
  id: 'task-spec-1.41',
  since: 41,
  routes: TASK_SPEC_ROUTES,
  description:
    'ContainerSpec has CapabilityAdd, CapabilityDrop and Ulimits, Resources.Limits has Pids. Tasks of a job tell ' +
    'JobIteration.',
  ...newFields(
    ofContainers('CapabilityAdd', 'CapabilityDrop', 'Ulimits'),
    ofTasks('Resources.Limits.Pids'),
    told('JobIteration'),
  ),
});

const jobs = change({
  id: 'service-jobs',
  since: 41,
  routes: SERVICE_ROUTES,
  description: 'Services may be jobs: Mode has ReplicatedJob and GlobalJob, and they tell JobStatus.',
  ...newFields(ofService('Mode.ReplicatedJob', 'Mode.GlobalJob'), told('JobStatus')),
});

const status = change({
  id: 'service-status',
  since: 41,
  routes: ['service.list'],
  description: 'GET /services takes status, and then tells ServiceStatus.',
  request: ({ query }) => query.delete('status'),
});

export const changes = [taskSpec, jobs, status];
