import { change } from '../change.ts';
import { editAt, objectAt, without } from '../json.ts';

const devices = change({
  id: 'info-discovered-devices',
  since: 50,
  routes: ['system.info'],
  description: 'GET /info tells DiscoveredDevices.',
  response: (body) => editAt(body, [], (info) => without(info, 'DiscoveredDevices')),
});

const bridges = change({
  id: 'info-bridge-netfilter',
  since: 50,
  routes: ['system.info'],
  description: 'GET /info no longer tells BridgeNfIptables and BridgeNfIp6tables.',
  response: (body, legacy) =>
    editAt(body, [], (info) => ({
      BridgeNfIptables: false,
      BridgeNfIp6tables: false,
      ...info,
      ...objectAt(legacy),
    })),
});

const platforms = change({
  id: 'image-delete-platforms',
  since: 50,
  routes: ['image.remove'],
  description: 'DELETE /images/{name} takes platforms. An image here has one: another one is 404.',
  request: ({ query }) => query.delete('platforms'),
});

const runFields = change({
  id: 'image-run-fields',
  since: 50,
  routes: ['image.inspect'],
  description:
    'Config of an image no longer tells what is of containers only: Hostname, Domainname, AttachStdin, ' +
    'AttachStdout, AttachStderr, Tty, OpenStdin, StdinOnce, Image, NetworkDisabled, MacAddress, StopTimeout.',
  response: (body, legacy) =>
    editAt(body, ['Config'], (config) => ({ ...objectAt(legacy, 'Config'), ...config })),
});

export const changes = [devices, bridges, platforms, runFields];
