import { invalidArgument } from '../../../daemon/base/errors.ts';
import { change } from '../change.ts';
import { editAt, editEach, editValues, objectAt, objectsAt, without, withoutWarnings } from '../json.ts';
import type { JsonObject } from '../json.ts';

const healthStartInterval = change({
  id: 'health-start-interval',
  since: 44,
  routes: ['container.create'],
  description: 'Healthcheck takes StartInterval.',
  request: ({ body }) => {
    delete objectAt(body, 'Healthcheck')?.['StartInterval'];
  },
});

const readOnlyRecursive = change({
  id: 'bind-read-only-recursive',
  since: 44,
  routes: ['container.create'],
  description:
    'Read-only bind mounts are read-only recursively where the kernel can; BindOptions takes ReadOnlyNonRecursive ' +
    'and ReadOnlyForceRecursive. Mounts of older clients stay non-recursive, and one that forces is refused.',
  request: ({ body }) => {
    for (const mount of objectsAt(body, 'HostConfig', 'Mounts').filter((item) => item['Type'] === 'bind')) {
      const options = objectAt(mount, 'BindOptions');
      if (options?.['ReadOnlyForceRecursive'] === true) {
        throw invalidArgument('BindOptions.ReadOnlyForceRecursive needs API version 1.44 or newer');
      }
      mount['BindOptions'] = { ...options, ReadOnlyNonRecursive: true };
    }
  },
});

const endpoints = change({
  id: 'several-endpoints',
  since: 44,
  routes: ['container.create'],
  description:
    'POST /containers/create connects to several networks (EndpointsConfig) and takes a MacAddress for each.',
  request: ({ body }) => {
    const config = objectAt(body, 'NetworkingConfig', 'EndpointsConfig') ?? {};
    const names = Object.keys(config);
    if (names.length > 1) {
      throw invalidArgument(`Container cannot be connected to network endpoints: ${names.join(', ')}`);
    }
    for (const name of names) {
      delete objectAt(config, name)?.['MacAddress'];
    }
  },
});

const dnsNames = change({
  id: 'endpoint-dns-names',
  since: 44,
  routes: ['container.inspect'],
  description: 'Endpoints of a container tell DNSNames.',
  response: (body) =>
    editAt(body, ['NetworkSettings'], (settings) => ({
      ...settings,
      Networks: editValues(settings['Networks'], (endpoint) => without(endpoint, 'DNSNames')),
    })),
});

const dnsNamesInList = change({
  id: 'endpoint-dns-names-in-list',
  since: 44,
  routes: ['container.list'],
  description: 'Endpoints of listed containers tell DNSNames.',
  response: (body) => editEach(body, withoutDnsNames),
});

const dnsNamesInDiskUsage = change({
  id: 'endpoint-dns-names-in-disk-usage',
  since: 44,
  routes: ['system.diskUsage'],
  description: 'Endpoints of the containers of GET /system/df tell DNSNames.',
  response: (body) =>
    editAt(body, [], (usage) => ({ ...usage, Containers: editEach(usage['Containers'], withoutDnsNames) })),
});

function withoutDnsNames(container: JsonObject): JsonObject {
  return {
    ...container,
    NetworkSettings: editAt(container['NetworkSettings'], [], (settings) => ({
      ...settings,
      Networks: editValues(settings['Networks'], (endpoint) => without(endpoint, 'DNSNames')),
    })),
  };
}

const virtualSize = change({
  id: 'image-virtual-size',
  since: 44,
  routes: ['image.list', 'image.inspect'],
  description: 'Images no longer tell VirtualSize, which was the same as Size.',
  response: (body) =>
    Array.isArray(body) ? editEach(body, withVirtualSize) : editAt(body, [], withVirtualSize),
});

const created = change({
  id: 'image-created',
  since: 44,
  routes: ['image.inspect'],
  description: 'Images leave out Created where they do not say when they were (0001-01-01T00:00:00Z before).',
  response: (body) => editAt(body, [], (image) => ({ Created: '0001-01-01T00:00:00Z', ...image })),
});

const diskUsageVirtualSize = change({
  id: 'disk-usage-virtual-size',
  since: 44,
  routes: ['system.diskUsage'],
  description: 'Images of GET /system/df no longer tell VirtualSize, which was the same as Size.',
  response: (body) =>
    editAt(body, [], (usage) => ({ ...usage, Images: editEach(usage['Images'], withVirtualSize) })),
});

function withVirtualSize(image: JsonObject): JsonObject {
  return { ...image, VirtualSize: image['Size'] };
}

const containerMac = change({
  id: 'container-mac-address-deprecated',
  since: 44,
  routes: ['container.create'],
  description: 'POST /containers/create warns of MacAddress beside the endpoints, which have their own.',
  response: (body) => withoutWarnings(body, 'The container-wide MacAddress field is now deprecated'),
});

const cdi = change({
  id: 'info-cdi',
  since: 44,
  routes: ['system.info'],
  description: 'GET /info tells CDISpecDirs.',
  response: (body) => editAt(body, [], (info) => without(info, 'CDISpecDirs')),
});

export const changes = [
  healthStartInterval,
  readOnlyRecursive,
  endpoints,
  dnsNames,
  dnsNamesInList,
  dnsNamesInDiskUsage,
  virtualSize,
  created,
  diskUsageVirtualSize,
  containerMac,
  cdi,
];
