import { change } from '../change.ts';
import { editEach } from '../json.ts';

const containers = change({
  id: 'image-containers',
  since: 51,
  routes: ['image.list'],
  description: 'Listed images tell how many containers are made of them (Containers, -1 before).',
  response: (body) => editEach(body, (image) => ({ ...image, Containers: -1 })),
});

export const changes = [containers];
