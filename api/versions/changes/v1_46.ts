import { change } from '../change.ts';
import { editAt, editEach, isObject, objectAt, objectsAt, without } from '../json.ts';

const tmpfsOptions = change({
  id: 'tmpfs-options',
  since: 46,
  routes: ['container.create'],
  description: 'Mounts of type tmpfs take TmpfsOptions.Options.',
  request: ({ body }) => {
    for (const mount of objectsAt(body, 'HostConfig', 'Mounts')) {
      delete objectAt(mount, 'TmpfsOptions')?.['Options'];
    }
  },
});

const annotations = change({
  id: 'container-summary-annotations',
  since: 46,
  routes: ['container.list'],
  description: 'Listed containers tell HostConfig.Annotations, where they have any.',
  response: (body) =>
    editEach(body, (container) => ({
      ...container,
      HostConfig: editAt(container['HostConfig'], [], (host) => without(host, 'Annotations')),
    })),
});

const imageCreate = change({
  id: 'event-image-create',
  since: 46,
  routes: ['system.events'],
  description: 'GET /events tells create of images that are built or committed here.',
  item: (event) =>
    isObject(event) && event['Type'] === 'image' && event['Action'] === 'create' ? undefined : event,
});

const pushPlatform = change({
  id: 'image-push-platform',
  since: 46,
  routes: ['image.push'],
  description: 'POST /images/{name}/push takes platform. An image here has one: another one is 404.',
  request: ({ query }) => query.delete('platform'),
});

export const changes = [tmpfsOptions, annotations, imageCreate, pushPlatform];
