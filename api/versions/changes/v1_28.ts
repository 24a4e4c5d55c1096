import { change } from '../change.ts';
import { editEach, objectAt } from '../json.ts';

const networkListContainers = change({
  id: 'network-list-without-containers',
  since: 28,
  routes: ['network.list'],
  description: 'GET /networks no longer lists the containers of each network; GET /networks/{id} does.',
  response: (body, legacy) =>
    editEach(body, (network) => ({
      ...network,
      Containers: objectAt(legacy, String(network['Id'])) ?? {},
    })),
});

const networkServices = change({
  id: 'network-verbose',
  since: 28,
  routes: ['network.inspect'],
  description: 'GET /networks/{id} takes verbose, and tells the Services of a network of the swarm.',
  request: ({ query }) => query.delete('verbose'),
});

const websocketBinary = change({
  id: 'websocket-binary-messages',
  since: 28,
  routes: ['container.attachWebsocket'],
  description: 'GET /containers/{id}/attach/ws sends binary messages (text before).',
  quirk: 'websocket-sends-binary',
});

export const changes = [networkListContainers, networkServices, websocketBinary];
