import { change } from '../change.ts';
import { editAt, without } from '../json.ts';

const identity = change({
  id: 'image-identity',
  since: 53,
  routes: ['image.inspect'],
  description: 'Images tell their Identity: the repositories they were pulled from or pushed to.',
  response: (body) => editAt(body, [], (image) => without(image, 'Identity')),
});

export const changes = [identity];
