import { armHere } from '../../../support/fakes/failpoints.ts';
import { beforeEach, expect, test } from 'vitest';
import type { AttachContainer } from '../../../../api/types/swarm/networks.ts';
import { notFound } from '../../../../daemon/base/errors.ts';
import { silentLogger } from '../../../../daemon/base/logger.ts';
import { newNetwork } from '../../../../daemon/networks/network.ts';
import type { NetworkIndex } from '../../../../daemon/networks/network-index.ts';
import { SwarmAttachments } from '../../../../daemon/networks/sandbox/swarm-attachments.ts';
import type { Sandbox, SandboxRequest } from '../../../../daemon/networks/sandbox/sandbox.ts';
import { networkIndex } from '../../../support/fakes/network-index.ts';

let index: NetworkIndex;
let attachments: SwarmAttachments;
/** Why networks are not in force, by their ids. */
const troubles = new Map<string, string>();
/** What the swarm was asked, in order. */
let asked: string[];

function ofSwarm(name: string): void {
  const spec = {
    internal: false,
    attachable: true,
    enableIPv6: false,
    ipam: { driver: 'default', options: null, config: [] },
    options: {},
    labels: {},
  };
  const facts = { id: `${name}-id`, name, driver: 'overlay', createdNano: 0n, isBuiltIn: false, spec };
  index.add(newNetwork(facts));
}

beforeEach(() => {
  armHere('');
  asked = [];
  index = networkIndex();
  troubles.clear();
  attachments = new SwarmAttachments({
    registry: index,
    trouble: (networkId) => troubles.get(networkId),
    log: silentLogger,
    access: {
      attach: async ({ network, container, names, addresses }: AttachContainer) => {
        asked.push(`attach ${container} ${network} ${names.join(',')} ${addresses.join(',')}`.trimEnd());
        if (!['back', 'front'].includes(network)) {
          throw notFound(`network ${network} not found`);
        }
        if (index.lookUp(network) === undefined) {
          ofSwarm(network);
        }
        return { addresses: [`10.0.${network.length}.3`, 'fd00::3'] };
      },
      detach: async ({ network, container }) => void asked.push(`detach ${container} ${network}`),
      find: () => undefined,
    },
  });
});

function request(...names: string[]): SandboxRequest {
  return {
    containerId: 'c1',
    containerName: '/Web',
    hostname: 'h',
    domainname: '',
    networkMode: names[0] ?? 'none',
    endpoints: Object.fromEntries(names.map((name) => [name, {}])),
    exposedPorts: [],
    portBindings: {},
    publishAllPorts: false,
    dns: [],
    dnsSearch: [],
    dnsOptions: [],
    extraHosts: [],
  };
}

test('a container is let into the networks of the swarm alone, with the addresses that it is given', async () => {
  const { request: given, names } = await attachments.enter(request('bridge', 'back'));
  expect([names, given.endpoints]).toEqual([
    ['back'],
    { bridge: {}, back: { IPAMConfig: { IPv4Address: '10.0.4.3', IPv6Address: 'fd00::3' } } },
  ]);
  expect(attachments.list()).toEqual([
    { network: 'back-id', container: 'c1', names: ['web', 'c1', 'h'], addresses: ['10.0.4.3', 'fd00::3'] },
  ]);
  attachments.leave('c1', names);
  attachments.leave('c1', names);
  expect([attachments.list(), asked]).toEqual([[], ['attach c1 back web,c1,h', 'detach c1 back-id']]);
});

test('a network that is not in force on this host lets nobody in, and says why', async () => {
  troubles.set('front-id', 'network front: option "encrypted": this kernel cannot');
  await expect(attachments.enter(request('back', 'front'))).rejects.toThrow(
    'network front: option "encrypted": this kernel cannot',
  );
  expect([attachments.list(), asked.filter((call) => call.startsWith('detach'))]).toEqual([
    [],
    ['detach c1 back-id', 'detach c1 front-id'],
  ]);
});

test('an address that is asked for is told; a task is in its networks by itself', async () => {
  const endpoints = { back: { Aliases: ['DB'], IPAMConfig: { IPv4Address: '10.0.4.9' } } };
  await attachments.enter({ ...request('back'), endpoints });
  const ofTask = { ...request('back'), containerId: 'c2', ofTask: true };
  expect(await attachments.enter(ofTask)).toEqual({ request: ofTask, names: [] });
  expect(asked).toEqual(['attach c1 back web,db,c1,h 10.0.4.9']);
});

test.each([
  ['a network that there is none of', '', 'network nosuch not found', ['detach c1 back-id']],
  [
    'an error before it is asked',
    'network.attach.ask=error(x)@2',
    'network.attach.ask',
    ['detach c1 back-id'],
  ],
  [
    'an error after it was let in',
    'network.attach.given=error(x)@1',
    'network.attach.given',
    ['detach c1 back-id'],
  ],
])('%s: it is let into none', async (_title, failpoints, message, left) => {
  armHere(failpoints);
  await expect(attachments.enter(request('back', 'nosuch'))).rejects.toThrow(message);
  expect([attachments.list(), asked.filter((each) => each.startsWith('detach'))]).toEqual([[], left]);
});

test('a container that is renamed is told by its new name, at the same address', async () => {
  const { names } = await attachments.enter(request('back'));
  const sandbox: Sandbox = {
    netnsPath: '/x',
    ownerId: 'c1',
    endpoints: { back: { NetworkID: 'back-id', DNSNames: ['Shop', 'c1'] } },
    attached: names,
    ports: {},
    hosts: '',
    resolvConf: '',
  };
  attachments.renamed('c1', sandbox);
  expect(attachments.list()).toMatchObject([{ names: ['shop', 'c1'], addresses: ['10.0.4.3', 'fd00::3'] }]);
  expect(asked.at(-1)).toBe('attach c1 back-id shop,c1 10.0.4.3,fd00::3');
});

test('after a restart of the daemon those of running containers are told as they are', () => {
  const sandbox: Sandbox = {
    netnsPath: '/x',
    ownerId: 'c1',
    endpoints: {
      back: { NetworkID: 'back-id', IPAddress: '10.0.4.3', IPPrefixLen: 24, DNSNames: ['Web'] },
      lan: { NetworkID: 'lan-id', IPAddress: '172.20.0.2', IPPrefixLen: 16 },
    },
    attached: ['back'],
    ports: {},
    hosts: '',
    resolvConf: '',
  };
  attachments.restore('c1', sandbox);
  expect(attachments.list()).toEqual([
    { network: 'back-id', container: 'c1', names: ['web'], addresses: ['10.0.4.3'] },
  ]);
});
