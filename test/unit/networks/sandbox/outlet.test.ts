import { expect, test } from 'vitest';
import { checkRequest } from '../../../../daemon/networks/sandbox/check-request.ts';
import { allocateEndpoint } from '../../../../daemon/networks/sandbox/endpoints.ts';
import { newNetwork } from '../../../../daemon/networks/network.ts';
import type { Network } from '../../../../daemon/networks/network.ts';
import { poolsOf } from '../../../../daemon/networks/network-spec.ts';
import { OutletNetwork } from '../../../../daemon/networks/drivers/outlet-network.ts';

function network(name: string, driver: string, subnet: string, internal = false): Network {
  const spec = {
    internal,
    attachable: false,
    enableIPv6: false,
    ipam: { driver: 'default', options: null, config: [{ Subnet: subnet }] },
    options: {},
    labels: {},
  };
  const facts = { id: `${name}-id`, name, driver, createdNano: 0n, isBuiltIn: false, spec };
  return newNetwork({ ...facts, ...poolsOf(spec, driver) });
}

const ALL = [
  network('back', 'overlay', '10.0.1.0/24'),
  network('quiet', 'overlay', '10.0.2.0/24', true),
  network('lan', 'bridge', '172.20.0.0/16'),
  network('docker_gwbridge', 'bridge', '172.21.0.0/16'),
];

function endpoints(all: readonly Network[], ...names: string[]) {
  const lookUp = (ref: string): Network | undefined => all.find(({ name }) => name === ref);
  const IPAMConfig = { IPv4Address: '10.0.1.3' };
  return checkRequest(
    {
      hostname: 'h',
      domainname: '',
      networkMode: names[0] ?? 'none',
      endpoints: Object.fromEntries(names.map((name) => [name, name === 'back' ? { IPAMConfig } : {}])),
      exposedPorts: [],
      portBindings: {},
      publishAllPorts: false,
      dns: [],
      dnsSearch: [],
      dnsOptions: [],
      extraHosts: [],
    },
    {
      find: lookUp,
      lookUp,
      bindingAddress: () => '0.0.0.0',
      resolver: { nameservers: [], search: [], options: [] },
    },
  ).endpoints;
}

test.each([
  [['back'], ['back', 'docker_gwbridge (outlet)']],
  [['quiet'], ['quiet']],
  [
    ['quiet', 'back'],
    ['quiet', 'back', 'docker_gwbridge (outlet)'],
  ],
  [
    ['back', 'lan'],
    ['back', 'lan'],
  ],
  [
    ['back', 'docker_gwbridge'],
    ['back', 'docker_gwbridge'],
  ],
  [['lan'], ['lan']],
])('a container in %j has endpoints in %j', (names, expected) => {
  const all = endpoints(ALL, ...names).map(
    ({ network: { name }, isOutlet }) => `${name}${isOutlet ? ' (outlet)' : ''}`,
  );
  expect(all).toEqual(expected);
});

test('where the outlet is not there yet, it is left out', () => {
  expect(endpoints(ALL.slice(0, 3), 'back').map(({ network: { name } }) => name)).toEqual(['back']);
});

test('in the outlet a container has no names; in a network of the swarm no router', () => {
  const owner = { containerId: 'c', containerName: 'web', hostname: 'h' };
  const [back, outlet] = endpoints(ALL, 'back').map((wanted) => allocateEndpoint(wanted, owner).settings);
  expect([back?.IPAddress, back?.Gateway, back?.DNSNames]).toEqual(['10.0.1.3', '', ['web', 'c', 'h']]);
  expect([outlet?.IPAddress, outlet?.Gateway, outlet?.DNSNames]).toEqual(['172.21.0.2', '172.21.0.1', null]);
});

test('in a network of the swarm no address is chosen here', () => {
  const [quiet] = endpoints(ALL, 'quiet');
  const owner = { containerId: 'c', containerName: 'web', hostname: 'h' };
  expect(() => quiet && allocateEndpoint(quiet, owner)).toThrow(
    'network quiet: the swarm gave the container no address',
  );
});

test('the outlet is made once for all who need it, under the name of its link if that is free', async () => {
  const made: unknown[] = [];
  let isThere = false;
  const outlet = new OutletNetwork({
    has: () => isThere,
    create: async ({ Name, Options }) => {
      await Promise.resolve();
      isThere = true;
      made.push([Name, Options?.['com.docker.network.bridge.name']]);
    },
    isTaken: () => made.length > 0,
  });
  await Promise.all([outlet.ensure(), outlet.ensure()]);
  await outlet.ensure();
  isThere = false;
  await outlet.ensure();
  expect(made).toEqual([
    ['docker_gwbridge', 'docker_gwbridge'],
    ['docker_gwbridge', undefined],
  ]);
});
