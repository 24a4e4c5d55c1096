import { change } from '../change.ts';
import { editAt, editEach, objectAt, without } from '../json.ts';

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

const healthStartPeriod = change({
  id: 'health-start-period',
  since: 29,
  routes: ['container.create'],
  description: 'Healthcheck takes StartPeriod.',
  request: ({ body }) => {
    delete objectAt(body, 'Healthcheck')?.['StartPeriod'];
  },
});

export const changes = [networkIngress, healthStartPeriod];
