import { change } from '../../change.ts';

const pinnedImages = change({
  id: 'service-image-pinned-by-client',
  since: 30,
  routes: ['service.create', 'service.update'],
  description: 'Clients find the digest of the image of a service themselves (the manager does before).',
  quirk: 'client-pins-images',
});

export const changes = [pinnedImages];
