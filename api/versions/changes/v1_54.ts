import { change } from '../change.ts';

const identity = change({
  id: 'image-list-identity',
  since: 54,
  routes: ['image.list'],
  description: 'GET /images/json takes identity: no image has one here.',
  request: ({ query }) => query.delete('identity'),
});

export const changes = [identity];
