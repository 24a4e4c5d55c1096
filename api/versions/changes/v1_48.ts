import { change } from '../change.ts';
import { editAt, editEach, editValues, without, withoutWarnings } from '../json.ts';
import type { JsonObject } from '../json.ts';

const platforms = change({
  id: 'image-platform-parameter',
  since: 48,
  routes: ['image.history', 'image.load', 'image.save', 'image.saveSeveral'],
  description:
    'GET /images/{name}/history and get, and POST /images/load, take platform. An image here has one: another one ' +
    'is 404.',
  request: ({ query }) => query.delete('platform'),
});

const manifests = change({
  id: 'image-manifests',
  since: 48,
  routes: ['image.inspect'],
  description: 'GET /images/{name}/json takes manifests, as GET /images/json does.',
  request: ({ query }) => query.delete('manifests'),
});

const descriptor = change({
  id: 'image-descriptor',
  since: 48,
  routes: ['image.inspect'],
  description:
    'GET /images/{name}/json tells Descriptor: of the list that the name means, or of the manifest.',
  response: (body) => editAt(body, [], (image) => without(image, 'Descriptor')),
});

const descriptorInList = change({
  id: 'image-list-descriptor',
  since: 48,
  routes: ['image.list'],
  description: 'GET /images/json tells Descriptor, as GET /images/{name}/json does.',
  response: (body) => editEach(body, (image) => without(image, 'Descriptor')),
});

const gatewayPriority = change({
  id: 'endpoint-gateway-priority',
  since: 48,
  routes: ['container.inspect'],
  description: 'Endpoints of a container tell GwPriority, which every version takes.',
  response: (body) => editAt(body, [], withoutPriority),
});

const gatewayPriorityInList = change({
  id: 'endpoint-gateway-priority-in-list',
  since: 48,
  routes: ['container.list'],
  description: 'Endpoints of listed containers tell GwPriority.',
  response: (body) => editEach(body, withoutPriority),
});

const gatewayPriorityInDiskUsage = change({
  id: 'endpoint-gateway-priority-in-disk-usage',
  since: 48,
  routes: ['system.diskUsage'],
  description: 'Endpoints of the containers of GET /system/df tell GwPriority.',
  response: (body) =>
    editAt(body, [], (usage) => ({ ...usage, Containers: editEach(usage['Containers'], withoutPriority) })),
});

function withoutPriority(container: JsonObject): JsonObject {
  return {
    ...container,
    NetworkSettings: editAt(container['NetworkSettings'], [], (settings) => ({
      ...settings,
      Networks: editValues(settings['Networks'], (endpoint) => without(endpoint, 'GwPriority')),
    })),
  };
}

const volumeDriver = change({
  id: 'unused-volume-driver',
  since: 48,
  routes: ['container.create'],
  description:
    'POST /containers/create warns of a VolumeDriver beside volumes of Mounts, which do not have it.',
  response: (body) => withoutWarnings(body, 'WARNING: the container-wide volume-driver'),
});

const ipv4 = change({
  id: 'network-enable-ipv4',
  since: 48,
  routes: ['network.list', 'network.inspect'],
  description: 'Networks tell EnableIPv4, which is always true.',
  response: (body) =>
    Array.isArray(body)
      ? editEach(body, (network) => without(network, 'EnableIPv4'))
      : editAt(body, [], (network) => without(network, 'EnableIPv4')),
});

export const changes = [
  platforms,
  manifests,
  descriptor,
  descriptorInList,
  gatewayPriority,
  gatewayPriorityInList,
  gatewayPriorityInDiskUsage,
  volumeDriver,
  ipv4,
];
