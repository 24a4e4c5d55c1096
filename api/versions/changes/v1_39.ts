import { change } from '../change.ts';
import { editAt, without } from '../json.ts';

const info = change({
  id: 'info-warnings',
  since: 39,
  routes: ['system.info'],
  description: 'GET /info tells Warnings, ProductLicense and DefaultAddressPools.',
  response: (body) =>
    editAt(body, [], (newest) => without(newest, 'Warnings', 'ProductLicense', 'DefaultAddressPools')),
});

export const changes = [info];
