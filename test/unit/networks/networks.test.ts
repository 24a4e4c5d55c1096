import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../daemon/base/clock.ts';
import { checkRequest } from '../../../daemon/networks/sandbox/check-request.ts';
import { parseMac } from '../../../daemon/networks/ipam/mac.ts';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { Networks } from '../../../daemon/networks/networks.ts';
import { newNetwork } from '../../../daemon/networks/network.ts';
import { defaultNetworkOptions } from '../../../daemon/networks/options.ts';
import { networkIndex } from '../../support/fakes/network-index.ts';
import { portMap, publishedPorts } from '../../../daemon/networks/sandbox/port-map.ts';

function unused(): never {
  throw new Error('reading a network changes nothing');
}

function startNetworks(meta = new Map<string, string>()) {
  const registry = networkIndex(meta);
  return new Networks({
    registry,
    journal: { commit: unused, note: unused, settle: unused, tell: unused },
    table: { insert: unused, remove: unused, all: () => [] },
    kernel: { hostSubnets: unused },
    drivers: new Map(),
    options: defaultNetworkOptions,
    containerName: () => undefined,
    isWanted: () => false,
    clock: systemClock,
    log: silentLogger,
  });
}

async function names(filters: Record<string, string[]>): Promise<string[]> {
  return (await startNetworks().list(new Map(Object.entries(filters)))).map(({ Name }) => Name);
}

describe('the built-in networks', () => {
  it('keep their ids over a restart', async () => {
    const meta = new Map<string, string>();
    const ids = async () =>
      (await startNetworks(meta).list(new Map())).map(({ Id, Created }) => [Id, Created]);
    expect(await ids()).toEqual(await ids());
  });

  it('are found by name, id and unique prefix', async () => {
    const networks = startNetworks();
    const { Id } = await networks.inspect('host');
    expect((await networks.inspect(Id)).Name).toBe('host');
    expect((await networks.inspect(Id.slice(0, 20))).Name).toBe('host');
    await expect(networks.inspect('nosuch')).rejects.toThrow('network nosuch not found');
    await expect(networks.inspect('')).rejects.toThrow('network  not found');
  });

  it.each([
    [{}, ['bridge', 'host', 'none']],
    [{ driver: ['null'] }, ['none']],
    [{ name: ['bri'] }, ['bridge']],
    [{ name: ['^host$', 'none'] }, ['host', 'none']],
    [{ name: ['['] }, []],
    [{ type: ['custom'] }, []],
    [{ type: ['builtin'] }, ['bridge', 'host', 'none']],
    [{ scope: ['swarm'] }, []],
    [{ label: ['x'] }, []],
    [{ label: ['__proto__'] }, []],
    [{ dangling: ['true'] }, []],
    [{ dangling: ['0'], driver: ['host'] }, ['host']],
  ])('pass the filters %o as %o', async (filters, expected) => {
    expect(await names(filters)).toEqual(expected);
  });

  it.each([
    [{ nosuch: ['x'] }, "invalid filter 'nosuch'"],
    [{ toString: ['x'] }, "invalid filter 'toString'"],
    [{ type: ['odd'] }, "invalid filter: 'type'='odd'"],
    [{ dangling: ['perhaps'] }, "invalid filter 'dangling=[perhaps]'"],
  ])('refuse the filters %o', async (filters, message) => {
    await expect(names(filters)).rejects.toThrow(message);
  });
});

describe('checkRequest()', () => {
  const request = {
    hostname: 'web',
    domainname: '',
    networkMode: 'default',
    endpoints: {},
    exposedPorts: [],
    portBindings: {},
    publishAllPorts: false,
    dns: [],
    dnsSearch: [],
    dnsOptions: [],
    extraHosts: [],
  };
  const registry = networkIndex();
  const context = {
    find: (ref: string) => registry.find(ref),
    lookUp: (ref: string) => registry.lookUp(ref),
    bindingAddress: () => '0.0.0.0',
    resolver: { nameservers: [], search: [], options: [] },
  };

  it('takes `default` for the bridge and the empty settings that clients send', () => {
    const endpoints = {
      bridge: { IPAMConfig: { IPv4Address: '' }, Links: null, Aliases: [], MacAddress: '' },
    };
    expect(checkRequest({ ...request, endpoints }, context).endpoints).toMatchObject([
      { network: registry.builtIn.bridge, mac: undefined },
    ]);
  });

  it.each([
    [{ networkMode: 'blue' }, 'network blue not found'],
    [{ endpoints: { blue: {} } }, 'network blue not found'],
    [{ endpoints: { none: {} } }, 'EndpointsConfig: network "none"'],
    [
      { endpoints: { bridge: { IPAMConfig: { IPv4Address: '172.17.0.9' } } } },
      'user specified IP address is supported on user defined networks only',
    ],
    [
      { endpoints: { bridge: { Aliases: ['db'] } } },
      'network-scoped alias is supported only for containers in user',
    ],
    [{ endpoints: { bridge: { Links: ['db'] } } }, 'links are only supported for user-defined networks'],
    [
      { endpoints: { bridge: { DriverOpts: { 'com.docker.network.a': 'b' } } } },
      'DriverOpts: option "com.docker.network.a" is not supported',
    ],
    [
      { networkMode: 'none', endpoints: { none: { IPAMConfig: { LinkLocalIPs: ['169.254.1.1'] } } } },
      'in network none there is no interface',
    ],
    [{ macAddress: '02:42:0a:00:00:0g' }, 'invalid MAC address "02:42:0a:00:00:0g"'],
    [{ macAddress: '01:00:5e:00:00:01' }, 'not the address of a single interface'],
    [
      { macAddress: '02:42:0a:00:00:01', networkMode: 'host' },
      'conflicting options: mac-address and the network mode',
    ],
    [
      { macAddress: '02:42:0a:00:00:01', endpoints: { bridge: { MacAddress: '02:42:0a:00:00:02' } } },
      'must match the endpoint-specific MAC address',
    ],
    [{ hostname: 'web\n6.6.6.6 evil' }, 'invalid hostname'],
  ])('refuses %o', (overrides, message) => {
    expect(() => checkRequest({ ...request, ...overrides }, context)).toThrow(message);
  });
});

describe('parseMac()', () => {
  it('takes colons and dashes, but not both', () => {
    expect(parseMac('02-42-AC-11-00-02').toString('hex')).toBe('0242ac110002');
    expect(() => parseMac('02-42:AC-11-00-02')).toThrow('invalid MAC address');
  });
});

describe('publishedPorts()', () => {
  it('reads back from a stored sandbox what portMap() wrote', () => {
    const address = 0xac110002;
    const ports = [
      { protocol: 'tcp' as const, hostAddress: 0, hostPort: 8080, address, containerPort: 80 },
      { protocol: 'udp' as const, hostAddress: 0x7f000001, hostPort: 53, address, containerPort: 53 },
    ];
    const stored = portMap(['53/udp', '80/tcp', '90/tcp'], ports);
    expect(stored['90/tcp']).toBeNull();
    expect(
      publishedPorts({ endpoints: { bridge: { IPAddress: '172.17.0.2' } }, ports: stored }).toSorted(
        (a, b) => b.hostPort - a.hostPort,
      ),
    ).toEqual(ports);
  });
});

describe('NetworkIndex', () => {
  it('names of a network that is removed are not known any more, also to who still sees it', () => {
    const registry = networkIndex();
    const { builtIn } = registry;
    const network = newNetwork({
      ...builtIn.host,
      id: 'o1',
      name: 'blue',
      driver: 'overlay',
      isBuiltIn: false,
    });
    network.swarmNames = { find: () => ({ addresses: [1], changesOften: false }), nameAt: () => 'web' };
    registry.add(network);
    expect(registry.lookUp('blue')).toBe(network);
    registry.delete(network);
    expect(network.swarmNames).toBeUndefined();
  });
});
