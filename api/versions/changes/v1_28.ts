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

const websocketBinary = change({
  id: 'websocket-binary-messages',
  since: 28,
  routes: ['container.attachWebsocket'],
  description: 'GET /containers/{id}/attach/ws sends binary messages (text before).',
  quirk: 'websocket-sends-binary',
});

export const changes = [networkListContainers, websocketBinary];
