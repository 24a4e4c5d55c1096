import { change } from '../change.ts';
import { editAt, editEach, isObject, without } from '../json.ts';

const wait = change({
  id: 'wait-condition',
  since: 30,
  routes: ['container.wait'],
  description:
    'POST /containers/{id}/wait takes condition and sends its headers at once, so that a client knows that the ' +
    'wait is registered. Before, it waits for not-running and sends headers at the end.',
  request: ({ query }) => query.delete('condition'),
  quirk: 'wait-sends-headers-at-once',
});

const eventScope = change({
  id: 'event-scope',
  since: 30,
  routes: ['system.events'],
  description: 'Events tell their scope (local or swarm).',
  item: (event) => (isObject(event) ? without(event, 'scope') : event),
});

const networkConfig = change({
  id: 'network-config-from',
  since: 30,
  routes: ['network.list', 'network.inspect'],
  description: 'Networks tell ConfigFrom and ConfigOnly.',
  response: (body) =>
    Array.isArray(body)
      ? editEach(body, (network) => without(network, 'ConfigFrom', 'ConfigOnly'))
      : editAt(body, [], (network) => without(network, 'ConfigFrom', 'ConfigOnly')),
});

const networkScope = change({
  id: 'network-scope',
  since: 30,
  routes: ['network.inspect'],
  description:
    'GET /networks/{id} takes scope, where a name is that of a network of this host and of one of the swarm.',
  request: ({ query }) => query.delete('scope'),
});

const imageMetadata = change({
  id: 'image-last-tag-time',
  since: 30,
  routes: ['image.inspect'],
  description: 'Images tell Metadata.LastTagTime.',
  response: (body) => editAt(body, [], (image) => without(image, 'Metadata')),
});

export const changes = [wait, eventScope, networkConfig, networkScope, imageMetadata];
