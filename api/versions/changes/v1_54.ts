import { change } from '../change.ts';

const identity = change({
  id: 'image-list-identity',
  since: 54,
  routes: ['image.list'],
  description:
    'GET /images/json takes identity, beside manifests: where images were pulled from or pushed to.',
  request: ({ query }) => query.delete('identity'),
});

export const changes = [identity];
