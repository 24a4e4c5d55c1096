import { change } from '../change.ts';
import { editAt, without } from '../json.ts';

const waitError = change({
  id: 'wait-error',
  since: 34,
  routes: ['container.wait'],
  description: 'POST /containers/{id}/wait tells an Error of the wait itself.',
  response: (body) => editAt(body, [], (answer) => without(answer, 'Error')),
});

export const changes = [waitError];
