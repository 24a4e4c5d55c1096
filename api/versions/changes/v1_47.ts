import { change } from '../change.ts';

const manifests = change({
  id: 'image-list-manifests',
  since: 47,
  routes: ['image.list'],
  description:
    'GET /images/json takes manifests, which an engine whose images are of one platform has none of (as dockerd ' +
    'without its store of several platforms).',
  request: ({ query }) => query.delete('manifests'),
});

export const changes = [manifests];
