import { change } from '../change.ts';
import { editAt, editEach, isObject, objectAt, without, withoutWarnings } from '../json.ts';
import type { JsonObject } from '../json.ts';

const NO_NETWORK: JsonObject = {
  EndpointID: '',
  Gateway: '',
  GlobalIPv6Address: '',
  GlobalIPv6PrefixLen: 0,
  IPAddress: '',
  IPPrefixLen: 0,
  IPv6Gateway: '',
  MacAddress: '',
};

const networkSettings = change({
  id: 'legacy-network-settings',
  since: 52,
  routes: ['container.inspect'],
  description:
    'NetworkSettings of a container no longer repeats its endpoint in the default bridge, and no longer tells ' +
    'Bridge, HairpinMode, LinkLocalIPv6Address, LinkLocalIPv6PrefixLen, SecondaryIPAddresses and ' +
    'SecondaryIPv6Addresses.',
  response: (body) =>
    editAt(body, ['NetworkSettings'], (settings) => {
      const bridge = objectAt(settings, 'Networks', 'bridge') ?? {};
      return {
        Bridge: '',
        HairpinMode: false,
        LinkLocalIPv6Address: '',
        LinkLocalIPv6PrefixLen: 0,
        SecondaryIPAddresses: null,
        SecondaryIPv6Addresses: null,
        ...Object.fromEntries(Object.entries(NO_NETWORK).map(([key, none]) => [key, bridge[key] ?? none])),
        ...settings,
      };
    }),
});

const listHealth = change({
  id: 'container-summary-health',
  since: 52,
  routes: ['container.list'],
  description: 'Listed containers tell Health.',
  response: (body) => editEach(body, (container) => without(container, 'Health')),
});

const diskUsageHealth = change({
  id: 'disk-usage-health',
  since: 52,
  routes: ['system.diskUsage'],
  description: 'So do containers of GET /system/df.',
  response: (body) =>
    editAt(body, [], (usage) => ({
      ...usage,
      Containers: editEach(usage['Containers'], (container) => without(container, 'Health')),
    })),
});

const diskUsage = change({
  id: 'disk-usage-by-kind',
  since: 52,
  routes: ['system.diskUsage'],
  description:
    'GET /system/df tells ImageUsage, ContainerUsage, VolumeUsage and BuildCacheUsage, and takes verbose, which ' +
    'adds their Items and leaves out LayersSize, Images, Containers, Volumes and BuildCache.',
  request: ({ query }) => query.delete('verbose'),
  response: (body) =>
    editAt(body, [], (usage) =>
      without(usage, 'ImageUsage', 'ContainerUsage', 'VolumeUsage', 'BuildCacheUsage'),
    ),
});

const emptyImageFields = change({
  id: 'image-empty-fields',
  since: 52,
  routes: ['image.inspect'],
  description:
    'Images leave out Parent, Comment, DockerVersion and Author where they are empty, and of Config Cmd, ' +
    'Entrypoint, Env, Labels, OnBuild, User, Volumes and WorkingDir.',
  response: (body, legacy) =>
    editAt(body, [], (image) => ({
      Parent: '',
      Comment: '',
      DockerVersion: '',
      Author: '',
      ...image,
      Config: {
        User: '',
        Env: null,
        Cmd: null,
        Volumes: null,
        WorkingDir: '',
        Entrypoint: null,
        OnBuild: null,
        Labels: null,
        ...objectAt(image, 'Config'),
        // An empty list was told as one.
        ...emptyOnes(objectAt(legacy, 'Config')),
      },
    })),
});

const IMAGE_LISTS = ['Env', 'Cmd', 'Volumes', 'Entrypoint', 'OnBuild', 'Labels'];

function emptyOnes(config: JsonObject = {}): JsonObject {
  return Object.fromEntries(
    IMAGE_LISTS.flatMap((key) => {
      const value = config[key];
      const isEmpty = (Array.isArray(value) || isObject(value)) && Object.keys(value).length === 0;
      return isEmpty ? [[key, value]] : [];
    }),
  );
}

const events = change({
  id: 'event-legacy-fields',
  since: 52,
  routes: ['system.events'],
  description:
    'Events no longer tell status, id and from. They are sent as application/jsonl, application/x-ndjson or ' +
    'application/json-seq, as Accept says (application/json before).',
  item: (item) => (isObject(item) ? { ...legacyEvent(item), ...item } : item),
  quirk: 'events-are-json-lines',
});

/** Of before 1.22: of containers and images, and only what is there. */
function legacyEvent(event: JsonObject): JsonObject {
  const id = objectAt(event, 'Actor')?.['ID'];
  const image = objectAt(event, 'Actor', 'Attributes')?.['image'];
  const type = event['Type'];
  if (type !== 'container' && type !== 'image') {
    return {};
  }
  return {
    status: event['Action'],
    // A prune is of nothing in particular.
    ...(id !== '' && { id }),
    ...(type === 'container' && image !== undefined && image !== '' && { from: image }),
  };
}

const networkStatus = change({
  id: 'network-status',
  since: 52,
  routes: ['network.inspect'],
  description: 'GET /networks/{id} tells Status: how many addresses of each subnet are taken and free.',
  response: (body) => editAt(body, [], (network) => without(network, 'Status')),
});

const kernelMemoryTcp = change({
  id: 'kernel-memory-tcp',
  since: 52,
  routes: ['container.create', 'container.update'],
  description:
    'POST /containers/create and /containers/{id}/update ignore KernelMemoryTCP, which the kernel no longer has.',
  quirk: 'kernel-memory-tcp-is-ignored',
});

const containerMac = change({
  id: 'container-mac-address',
  since: 52,
  routes: ['container.create'],
  description:
    'POST /containers/create no longer takes MacAddress beside the endpoints, which have their own (400).',
  quirk: 'endpoints-alone-have-macs',
});

const containerConfig = change({
  id: 'container-config-1.52',
  since: 52,
  routes: ['container.inspect'],
  description: 'Config of a container no longer tells MacAddress, and OnBuild only where it has any.',
  response: (body, legacy) =>
    editAt(body, ['Config'], (config) => ({ OnBuild: null, ...config, ...objectAt(legacy) })),
});

const emptyBindings = change({
  id: 'empty-port-bindings',
  since: 52,
  routes: ['container.create'],
  description: 'POST /containers/create warns of empty lists in PortBindings, which publish at any port.',
  response: (body) => withoutWarnings(body, 'Following container port(s) have an empty list'),
});

const stats = change({
  id: 'stats-os-type',
  since: 52,
  routes: ['container.stats'],
  description: 'Statistics tell os_type.',
  response: (body) => editAt(body, [], (sample) => without(sample, 'os_type')),
  item: (item) => editAt(item, [], (sample) => without(sample, 'os_type')),
});

export const changes = [
  networkSettings,
  listHealth,
  diskUsageHealth,
  diskUsage,
  emptyImageFields,
  events,
  networkStatus,
  kernelMemoryTcp,
  containerMac,
  containerConfig,
  emptyBindings,
  stats,
];
