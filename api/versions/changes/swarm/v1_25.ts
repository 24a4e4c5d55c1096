import { change } from '../../change.ts';
import { withoutFields } from '../../field-cut.ts';
import { editAt, editEach, isObject, objectAt } from '../../json.ts';
import type { JsonObject } from '../../json.ts';
import {
  CLUSTER_READS,
  SERVICE_READS,
  SERVICE_ROUTES,
  SERVICE_WRITES,
  TASK_SPEC_ROUTES,
  newFields,
  ofContainers,
  ofService,
  ofTasks,
  told,
  toldOfCluster,
} from './fields.ts';

const containerSpec = change({
  id: 'container-spec-1.25',
  since: 25,
  routes: TASK_SPEC_ROUTES,
  description:
    'ContainerSpec has Hostname, Groups, TTY, OpenStdin, Healthcheck, Hosts, DNSConfig, Secrets and TmpfsOptions of ' +
    'Mounts; TaskTemplate has ForceUpdate.',
  ...newFields(
    ofContainers('Hostname', 'Groups', 'TTY', 'OpenStdin', 'Healthcheck', 'Hosts', 'DNSConfig', 'Secrets'),
    ofContainers('Mounts.TmpfsOptions'),
    ofTasks('ForceUpdate'),
  ),
});

const serviceSpec = change({
  id: 'service-spec-1.25',
  since: 25,
  routes: SERVICE_ROUTES,
  description:
    'UpdateConfig has Monitor and MaxFailureRatio, published ports a PublishMode; services tell PreviousSpec.',
  ...newFields(
    ofService('UpdateConfig.Monitor', 'UpdateConfig.MaxFailureRatio', 'EndpointSpec.Ports.PublishMode'),
    told('PreviousSpec', 'Endpoint.Spec.Ports.PublishMode', 'Endpoint.Ports.PublishMode'),
  ),
});

const networks = change({
  id: 'service-networks-beside',
  since: 25,
  routes: SERVICE_READS,
  description:
    'Services no longer tell their networks beside TaskTemplate, where 1.12 had them, but in it alone.',
  response: (body) =>
    Array.isArray(body) ? editEach(body, withNetworksBeside) : editAt(body, [], withNetworksBeside),
});

function withNetworksBeside(service: JsonObject): JsonObject {
  const Networks = objectAt(service, 'Spec', 'TaskTemplate')?.['Networks'];
  return Networks === undefined ? service : { ...service, Spec: { ...objectAt(service, 'Spec'), Networks } };
}

const resourceNames = change({
  id: 'resources-1.24',
  since: 25,
  routes: SERVICE_WRITES,
  description:
    'Resources are Limits and Reservations with NanoCPUs and MemoryBytes. Before, the documentation calls them ' +
    'Reservation, CPU and Memory, too, and they are taken.',
  request: ({ body }) => {
    const resources = objectAt(body, 'TaskTemplate', 'Resources');
    rename(resources, 'Reservation', 'Reservations');
    for (const amounts of [objectAt(resources, 'Limits'), objectAt(resources, 'Reservations')]) {
      rename(amounts, 'CPU', 'NanoCPUs');
      rename(amounts, 'Memory', 'MemoryBytes');
    }
  },
});

const externalCa = change({
  id: 'external-ca-1.24',
  since: 25,
  routes: ['swarm.init', 'swarm.update'],
  description:
    'CAConfig has ExternalCAs. Before, the documentation calls it ExternalCA, too, and it is taken.',
  request: ({ body }) => {
    for (const caConfig of [objectAt(body, 'CAConfig'), objectAt(body, 'Spec', 'CAConfig')]) {
      const { ExternalCA: given } = caConfig ?? {};
      if (caConfig !== undefined && isObject(given)) {
        caConfig['ExternalCA'] = [given];
      }
      rename(caConfig, 'ExternalCA', 'ExternalCAs');
    }
  },
});

/** The newest name wins where both are given. */
function rename(object: JsonObject | undefined, from: string, to: string): void {
  if (object !== undefined && Object.hasOwn(object, from)) {
    object[to] ??= object[from];
    delete object[from];
  }
}

const autoLock = change({
  id: 'swarm-autolock',
  since: 25,
  routes: ['swarm.init', 'swarm.update', ...CLUSTER_READS],
  description:
    'The swarm has EncryptionConfig, POST /swarm/init AutoLockManagers; the key of managers can be rotated.',
  request: (request) => {
    request.body = withoutFields(request.body, [
      'AutoLockManagers',
      'EncryptionConfig',
      'Spec.EncryptionConfig',
    ]);
    request.query.delete('rotateManagerUnlockKey');
  },
  ...newFields(toldOfCluster('Spec.EncryptionConfig')),
});

const taskFields = change({
  id: 'task-1.25',
  since: 25,
  routes: ['task.list', 'task.inspect'],
  description: 'Tasks tell Labels and Status.PortStatus.',
  ...newFields(told('Labels', 'Status.PortStatus')),
});

const nodeAddress = change({
  id: 'node-address',
  since: 25,
  routes: ['node.list', 'node.inspect'],
  description: 'Nodes tell Status.Addr.',
  ...newFields(told('Status.Addr')),
});

const authSource = change({
  id: 'service-registry-auth-from',
  since: 25,
  routes: ['service.update'],
  description: 'POST /services/{id}/update takes registryAuthFrom.',
  request: ({ query }) => query.delete('registryAuthFrom'),
});

const createWarnings = change({
  id: 'service-create-warnings',
  since: 25,
  routes: ['service.create'],
  description: 'POST /services/create answers Warnings.',
  ...newFields(told('Warnings')),
});

export const changes = [
  containerSpec,
  serviceSpec,
  networks,
  resourceNames,
  externalCa,
  autoLock,
  taskFields,
  nodeAddress,
  authSource,
  createWarnings,
];
