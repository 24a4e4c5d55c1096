import { change } from '../change.ts';
import { editAt, without } from '../json.ts';

const imagePlatform = change({
  id: 'image-create-platform',
  since: 32,
  routes: ['image.create'],
  description: 'POST /images/create takes platform.',
  request: ({ query }) => query.delete('platform'),
});

const containerPlatform = change({
  id: 'container-platform',
  since: 32,
  routes: ['container.inspect'],
  description: 'Containers tell their Platform.',
  response: (body) => editAt(body, [], (container) => without(container, 'Platform')),
});

export const changes = [imagePlatform, containerPlatform];
