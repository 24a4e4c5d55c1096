import { change } from '../change.ts';
import { editAt, editEach, without } from '../json.ts';

const networkIngress = change({
  id: 'network-ingress',
  since: 29,
  routes: ['network.list', 'network.inspect'],
  description: 'Networks tell whether they are the swarm Ingress network.',
  response: (body) =>
    Array.isArray(body)
      ? editEach(body, (network) => without(network, 'Ingress'))
      : editAt(body, [], (network) => without(network, 'Ingress')),
});

export const changes = [networkIngress];
