import { change } from '../../change.ts';
import {
  CLUSTER_READS,
  TASK_SPEC_ROUTES,
  newFields,
  ofContainers,
  ofTasks,
  toldOfCluster,
} from './fields.ts';

const taskSpec = change({
  id: 'task-spec-1.40',
  since: 40,
  routes: TASK_SPEC_ROUTES,
  description:
    'ContainerSpec has Sysctls, Runtime of a config, Config of a CredentialSpec and NonRecursive of a bind mount; ' +
    'Placement has MaxReplicas.',
  ...newFields(
    ofContainers(
      'Sysctls',
      'Configs.Runtime',
      'Privileges.CredentialSpec.Config',
      'Mounts.BindOptions.NonRecursive',
    ),
    ofTasks('Placement.MaxReplicas'),
  ),
});

const dataPathPort = change({
  id: 'swarm-data-path-port',
  since: 40,
  routes: ['swarm.init', ...CLUSTER_READS],
  description: 'POST /swarm/init takes DataPathPort, and the swarm tells it.',
  ...newFields({ sent: ['DataPathPort'], answered: [] }, toldOfCluster('DataPathPort')),
});

export const changes = [taskSpec, dataPathPort];
