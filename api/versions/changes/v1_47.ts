import { change } from '../change.ts';

const manifests = change({
  id: 'image-list-manifests',
  since: 47,
  routes: ['image.list'],
  description: 'GET /images/json takes manifests, and tells Manifests then.',
  request: ({ query }) => query.delete('manifests'),
});

export const changes = [manifests];
