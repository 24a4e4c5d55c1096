import { change } from '../../change.ts';
import { withoutFields } from '../../field-cut.ts';
import { isObject } from '../../json.ts';
import {
  CLUSTER_READS,
  SERVICE_WRITES,
  TASK_SPEC_ROUTES,
  newFields,
  ofContainers,
  ofTasks,
  told,
  toldOfCluster,
} from './fields.ts';

const taskSpec = change({
  id: 'task-spec-1.30',
  since: 30,
  routes: TASK_SPEC_ROUTES,
  description: 'ContainerSpec has Configs, Placement has Platforms, and TaskTemplate a Runtime.',
  ...newFields(ofContainers('Configs'), ofTasks('Placement.Platforms', 'Runtime')),
});

const pinnedImages = change({
  id: 'service-image-pinned-by-client',
  since: 30,
  routes: SERVICE_WRITES,
  description: 'Clients find the digest of the image of a service themselves (the manager does before).',
  quirk: 'client-pins-images',
});

const dataPath = change({
  id: 'swarm-data-path-address',
  since: 30,
  routes: ['swarm.init', 'swarm.join'],
  description: 'POST /swarm/init and /swarm/join take DataPathAddr.',
  ...newFields({ sent: ['DataPathAddr'], answered: [] }),
});

/** Of CAConfig. The key is never told. */
const CA_FIELDS = ['SigningCACert', 'SigningCAKey', 'ForceRotate', 'ExternalCAs.CACert'];

const rotation = change({
  id: 'swarm-root-rotation',
  since: 30,
  routes: ['swarm.init', 'swarm.update', ...CLUSTER_READS],
  description:
    'The root of the swarm can be rotated: CAConfig has SigningCACert, SigningCAKey, ForceRotate and a CACert for ' +
    'each external authority; the swarm tells TLSInfo and RootRotationInProgress.',
  request: (request) => {
    const fields = CA_FIELDS.flatMap((field) => [`CAConfig.${field}`, `Spec.CAConfig.${field}`]);
    request.body = withoutFields(request.body, fields);
  },
  ...newFields(
    toldOfCluster('TLSInfo', 'RootRotationInProgress', ...CA_FIELDS.map((field) => `Spec.CAConfig.${field}`)),
  ),
});

const nodeTls = change({
  id: 'node-tls-info',
  since: 30,
  routes: ['node.list', 'node.inspect'],
  description: 'Nodes tell Description.TLSInfo.',
  ...newFields(told('Description.TLSInfo')),
});

const SWARM_TYPES = new Set<unknown>(['node', 'service', 'secret', 'config']);

const events = change({
  id: 'event-swarm',
  since: 30,
  routes: ['system.events'],
  description: 'GET /events tells events of nodes, services, secrets, configs and networks of the swarm.',
  item: (event) =>
    isObject(event) && (SWARM_TYPES.has(event['Type']) || event['scope'] === 'swarm') ? undefined : event,
});

export const changes = [taskSpec, pinnedImages, dataPath, rotation, nodeTls, events];
