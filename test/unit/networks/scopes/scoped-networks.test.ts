import { beforeEach, describe, expect, it } from 'vitest';
import type { SwarmNetworks } from '../../../../api/types/swarm/networks.ts';
import type { SwarmRole } from '../../../../api/types/swarm/ports.ts';
import type {
  NetworkCreateRequest,
  NetworkInspect,
  NetworkPeer,
  NetworkServices,
} from '../../../../api/types/system.ts';
import { systemClock } from '../../../../daemon/base/clock.ts';
import { EngineError } from '../../../../daemon/base/errors.ts';
import { silentLogger } from '../../../../daemon/base/logger.ts';
import type { NetworkDriver } from '../../../../daemon/networks/drivers/driver.ts';
import { newNetwork, type Network } from '../../../../daemon/networks/network.ts';
import { NetworkIndex } from '../../../../daemon/networks/network-index.ts';
import { Networks } from '../../../../daemon/networks/networks.ts';
import { defaultNetworkOptions } from '../../../../daemon/networks/options.ts';
import { ScopedNetworks } from '../../../../daemon/networks/scopes/scoped-networks.ts';

const NO_MANAGER = 'This node is not a swarm manager.';
const FROM_WORKER = 'Cannot create a multi-host network from a worker node.';
const MEMBER = { EndpointID: 'e1', MacAddress: '02:42:0a:00:01:03', IPAddress: '10.0.1.3', IPPrefixLen: 24 };

function driver(name: string, scope: 'local' | 'swarm'): NetworkDriver {
  return {
    name,
    scope,
    publishesPorts: false,
    accept: (spec) => spec,
    survey: (spec) => spec,
    create: async () => undefined,
    remove: async () => undefined,
    attachment: () => {
      throw new Error('no container is put into a network here');
    },
    mtu: () => 0,
    bindingAddress: () => undefined,
    interfacePrefix: () => 'eth',
    hostLinks: () => [],
  };
}

/** Of every network, as managers count it. */
const STATUS = { IPAM: { Subnets: { '10.0.1.0/24': { IPsInUse: 4, DynamicIPsAvailable: 252 } } } };

/** As managers tell it. */
function overlay(Id: string, Name: string, more: Partial<NetworkInspect> = {}): NetworkInspect {
  return {
    Name,
    Id,
    Created: '2026-01-02T03:04:05.006Z',
    Scope: 'swarm',
    Driver: 'overlay',
    EnableIPv4: true,
    EnableIPv6: false,
    IPAM: { Driver: 'default', Options: null, Config: [{ Subnet: '10.0.1.0/24', Gateway: '10.0.1.1' }] },
    Internal: false,
    Attachable: true,
    Ingress: false,
    ConfigFrom: { Network: '' },
    ConfigOnly: false,
    Containers: {},
    Options: { 'com.docker.network.driver.overlay.vxlanid_list': '4097' },
    Labels: {},
    ...more,
  };
}

/** The managers as this node sees them. */
class FakeSwarm implements Pick<
  SwarmNetworks,
  'list' | 'isInUse' | 'statusOf' | 'servicesOf' | 'create' | 'remove'
> {
  role: SwarmRole = 'active/manager';
  networks: NetworkInspect[] = [];
  readonly used = new Set<string>();

  list(): NetworkInspect[] | undefined {
    return this.role === 'active/manager' ? this.networks : undefined;
  }

  isInUse(id: string): boolean {
    return this.used.has(id);
  }

  statusOf(): NetworkInspect['Status'] {
    return STATUS;
  }

  servicesOf(id: string): NetworkInspect['Services'] {
    if (this.role !== 'active/manager') {
      return undefined;
    }
    return this.used.has(id) ? { web: { VIP: '10.0.1.2', Ports: [], LocalLBIndex: 0, Tasks: [] } } : {};
  }

  async create({ Name = '' }: NetworkCreateRequest): Promise<{ Id: string; Warning: string }> {
    if (this.role !== 'active/manager') {
      throw new EngineError('forbidden', this.role === 'inactive' ? NO_MANAGER : FROM_WORKER);
    }
    const Id = `swarm${this.networks.length}`;
    this.networks.push(overlay(Id, Name));
    return { Id, Warning: '' };
  }

  async remove(id: string): Promise<void> {
    if (this.role !== 'active/manager') {
      throw new EngineError('unavailable', NO_MANAGER);
    }
    if (this.used.has(id)) {
      throw new EngineError('invalid_argument', `network ${id} is in use by service s`);
    }
    this.networks = this.networks.filter(({ Id }) => Id !== id);
  }
}

let swarm: FakeSwarm;
let registry: NetworkIndex;
let local: Networks;
let networks: ScopedNetworks;
let peers: NetworkPeer[];
let servicesHere: NetworkServices;
let isFailing: boolean;

beforeEach(() => {
  swarm = new FakeSwarm();
  peers = [];
  servicesHere = {};
  isFailing = false;
  const meta = new Map<string, string>();
  const table = { insert: () => undefined, remove: () => undefined, all: () => [] };
  registry = new NetworkIndex({
    meta: { get: (key) => meta.get(key), set: (key, value) => void meta.set(key, value) },
    table,
    options: defaultNetworkOptions,
    clock: systemClock,
    log: silentLogger,
  });
  local = new Networks({
    registry,
    journal: {
      commit: (change) => change(() => undefined),
      note: () => undefined,
      settle: () => undefined,
      tell: () => undefined,
    },
    table,
    kernel: { hostSubnets: () => [] },
    drivers: new Map(
      [driver('bridge', 'local'), driver('overlay', 'swarm')].map((each) => [each.name, each]),
    ),
    options: defaultNetworkOptions,
    containerName: (id) => `name-of-${id}`,
    isWanted: () => false,
    clock: systemClock,
    log: silentLogger,
  });
  networks = new ScopedNetworks({
    local,
    swarm: {
      list: () => swarm.list(),
      isInUse: (id) => swarm.isInUse(id),
      statusOf: () => swarm.statusOf(),
      servicesOf: (id) => swarm.servicesOf(id),
      create: (request) => swarm.create(request),
      remove: (id) => (isFailing ? Promise.reject(new Error('no leader')) : swarm.remove(id)),
    },
    role: () => swarm.role,
    peersOf: () => peers,
    servicesOf: () => servicesHere,
    clock: systemClock,
    log: silentLogger,
  });
});

/** What this node was told of a network of the swarm, with a container in it. */
function here(id: string, name: string): Network {
  const network = newNetwork({
    ...registry.builtIn.host,
    id,
    name,
    driver: 'overlay',
    isBuiltIn: false,
    spec: { ...registry.builtIn.host.spec, labels: { said: 'here' } },
  });
  registry.add(network);
  registry.join(network, { containerId: 'c1', containerName: 'web', endpoint: MEMBER });
  return network;
}

const list = (filters: Record<string, string[]> = {}): Promise<NetworkInspect[]> =>
  networks.list(new Map(Object.entries(filters)));
const names = async (filters: Record<string, string[]> = {}): Promise<string[]> =>
  (await list(filters)).map(({ Name }) => Name);

const prune = (filters: Record<string, string[]> = {}): Promise<{ NetworksDeleted: string[] | null }> =>
  networks.prune(new Map(Object.entries(filters)));

describe('list', () => {
  it('has the networks of this host and of the swarm, each once', async () => {
    await local.create({ Name: 'blue' });
    swarm.networks = [overlay('s1', 'front'), overlay('s2', 'back')];
    here('s1', 'front');
    expect(await names()).toEqual(['bridge', 'host', 'none', 'blue', 'front', 'back']);
    // What managers say of it counts.
    expect((await list({ id: ['s1'] }))[0]).toEqual({
      ...overlay('s1', 'front'),
      Containers: {
        c1: {
          Name: 'name-of-c1',
          EndpointID: 'e1',
          MacAddress: MEMBER.MacAddress,
          IPv4Address: '10.0.1.3/24',
          IPv6Address: '',
        },
      },
    });
  });

  it.each([
    [{ driver: ['overlay'] }, ['ingress', 'front', 'back']],
    [{ scope: ['swarm'] }, ['ingress', 'front', 'back']],
    [{ scope: ['local'], type: ['custom'] }, ['blue']],
    [{ type: ['custom'] }, ['blue', 'ingress', 'front', 'back']],
    [{ type: ['builtin'] }, ['bridge', 'host', 'none']],
    [{ name: ['b'] }, ['bridge', 'blue', 'back']],
    [{ id: ['^s1$'] }, ['front']],
    [{ label: ['a=b'] }, ['back']],
    [{ dangling: ['true'] }, ['blue', 'back']],
    [{ dangling: ['0'], driver: ['overlay'] }, ['ingress', 'front']],
  ])('filters both scopes by %j', async (filters, expected) => {
    await local.create({ Name: 'blue' });
    swarm.networks = [
      overlay('s0', 'ingress', { Ingress: true }),
      overlay('s1', 'front'),
      overlay('s2', 'back', { Labels: { a: 'b' } }),
    ];
    swarm.used.add('s1');
    expect(await names(filters)).toEqual(expected);
  });

  it.each([{ nosuch: ['x'] }, { type: ['odd'] }])('refuses the filter %j', async (filters) => {
    await expect(names(filters)).rejects.toThrow('invalid filter');
  });

  it('has on workers what the node was told of', async () => {
    swarm.role = 'active/worker';
    here('s1', 'front').members.clear();
    expect(await names({ scope: ['swarm'] })).toEqual(['front']);
    // Others of the swarm may use it.
    expect(await names({ dangling: ['true'] })).toEqual([]);
  });

  it('leaves out on managers what was removed and is still being taken down here', async () => {
    here('s1', 'front');
    expect(await names({ scope: ['swarm'] })).toEqual([]);
    await expect(networks.inspect('front')).rejects.toThrow('network front not found');
  });
});

describe('inspect', () => {
  it('finds a network of either scope by id, name and the beginning of its id', async () => {
    const { Id } = await local.create({ Name: 'blue' });
    swarm.networks = [overlay('zswarm1', 'front')];
    for (const ref of [Id, 'blue', Id.slice(0, 20)]) {
      expect((await networks.inspect(ref)).Name).toBe('blue');
    }
    for (const ref of ['zswarm1', 'front', 'zsw']) {
      expect((await networks.inspect(ref)).Name).toBe('front');
    }
  });

  it('a name of both scopes is ambiguous without one of them', async () => {
    await local.create({ Name: 'shop' });
    swarm.networks = [overlay('s1', 'shop')];
    await expect(networks.inspect('shop')).rejects.toThrow(
      'network shop is ambiguous (2 matches found based on name)',
    );
    expect((await networks.inspect('shop', { scope: 'local' })).Driver).toBe('bridge');
    expect((await networks.inspect('shop', { scope: 'swarm' })).Id).toBe('s1');
    await expect(networks.remove('shop')).rejects.toThrow('is ambiguous');
  });

  it.each([
    ['front', 'local'],
    ['blue', 'swarm'],
    ['bridge', 'global'],
  ])('%s is not there in scope %s', async (ref, scope) => {
    await local.create({ Name: 'blue' });
    swarm.networks = [overlay('s1', 'front')];
    await expect(networks.inspect(ref, { scope })).rejects.toThrow(`network ${ref} not found`);
  });

  it('what each node has is found among those of the swarm, on managers', async () => {
    expect(await networks.inspect('host', { scope: 'swarm' })).toMatchObject({
      Scope: 'swarm',
      Labels: { 'com.docker.swarm.predefined': 'true' },
    });
    swarm.role = 'inactive';
    await expect(networks.inspect('host', { scope: 'swarm' })).rejects.toThrow('network host not found');
  });

  it('tells peers where there are any, and services when asked', async () => {
    swarm.networks = [overlay('s1', 'front'), overlay('s2', 'back')];
    swarm.used.add('s1');
    expect(await networks.inspect('front')).toEqual(overlay('s1', 'front', { Status: STATUS }));
    peers = [{ Name: 'n1', IP: '192.0.2.1' }];
    expect(await networks.inspect('front')).toEqual(overlay('s1', 'front', { Status: STATUS, Peers: peers }));
    expect((await networks.inspect('front', { verbose: true })).Services).toHaveProperty('web');
    expect(await networks.inspect('back', { verbose: true })).not.toHaveProperty('Services');
  });

  it('verbose on a worker tells the services that it was told of', async () => {
    here('s1', 'front');
    swarm.role = 'active/worker';
    servicesHere = { web: { VIP: '10.0.1.2', Ports: [], LocalLBIndex: 0, Tasks: [] } };
    expect(await networks.inspect('front', { verbose: true })).toMatchObject({ Services: servicesHere });
    expect(await networks.inspect('front')).not.toHaveProperty('Services');
  });
});

describe('create', () => {
  it.each([
    [{ Driver: 'overlay' }, 'swarm'],
    [{ Driver: 'overlay', Scope: 'swarm' }, 'swarm'],
    [{ Scope: 'swarm' }, 'swarm'],
    [{ Driver: 'overlay', Ingress: true }, 'swarm'],
    [{}, 'local'],
    [{ Driver: 'bridge', Scope: 'local' }, 'local'],
    [{ Driver: 'overlay', ConfigOnly: true }, 'local'],
  ])('%j makes a network of scope %s', async (body, scope) => {
    const { Id, Warning } = await networks.create({ Name: 'new', CheckDuplicate: true, ...body });
    expect(Warning).toBe('');
    expect((await networks.inspect(Id)).Scope).toBe(scope);
  });

  it.each([{}, { Driver: 'overlay' }, { CheckDuplicate: true }])(
    'refuses %j where the swarm has the name',
    async (body) => {
      swarm.networks = [overlay('s1', 'shop')];
      await expect(networks.create({ Name: 'shop', ...body })).rejects.toMatchObject({
        code: 'conflict',
        message: 'network with name shop already exists',
      });
    },
  );

  it.each<[SwarmRole, NetworkCreateRequest, string]>([
    [
      'active/manager',
      { Driver: 'overlay', Scope: 'local' },
      'cannot downgrade network scope for overlay networks',
    ],
    [
      'inactive',
      { Driver: 'overlay', Scope: 'local' },
      'cannot downgrade network scope for overlay networks',
    ],
    ['active/worker', { Driver: 'overlay' }, FROM_WORKER],
    ['inactive', { Driver: 'overlay' }, NO_MANAGER],
    ['active/manager', { Ingress: true }, 'Ingress network can only be global scope network'],
    ['inactive', { Driver: 'bridge', Ingress: true }, 'Ingress network can only be global scope network'],
    [
      'inactive',
      { Driver: 'bridge', Scope: 'swarm' },
      'cannot create a swarm scoped network when swarm is not active',
    ],
  ])('on a node that is %s refuses %j: %s', async (role, body, message) => {
    swarm.role = role;
    await expect(networks.create({ Name: 'new', ...body })).rejects.toThrow(message);
  });
});

describe('remove', () => {
  it('takes a network out of the scope that it is in', async () => {
    await local.create({ Name: 'blue' });
    swarm.networks = [overlay('s1', 'front'), overlay('s0', 'ingress', { Ingress: true })];
    for (const ref of ['blue', 'front', 'ingress']) {
      await networks.remove(ref);
      await expect(networks.remove(ref)).rejects.toThrow(`network ${ref} not found`);
    }
    await expect(networks.remove('bridge')).rejects.toThrow('bridge is a pre-defined network');
  });

  it('of a network that is used says by what', async () => {
    swarm.networks = [overlay('s1', 'front')];
    swarm.used.add('s1');
    await expect(networks.remove('front')).rejects.toThrow('network s1 is in use by service s');
  });

  it('is a manager’s affair', async () => {
    swarm.role = 'active/worker';
    here('s1', 'front');
    await expect(networks.remove('front')).rejects.toThrow(NO_MANAGER);
  });
});

describe('prune', () => {
  beforeEach(async () => {
    await local.create({ Name: 'blue' });
    swarm.networks = [
      overlay('s0', 'ingress', { Ingress: true }),
      overlay('s1', 'front'),
      overlay('s2', 'back', { Labels: { a: 'b' }, Created: '2099-01-01T00:00:00Z' }),
    ];
    swarm.used.add('s1');
  });

  it.each([
    [{}, ['back', 'blue']],
    [{ label: ['a'] }, ['back']],
    [{ 'label!': ['a'] }, ['blue']],
    [{ until: ['2098-01-01T00:00:00Z'] }, ['blue']],
    [{ label: ['x'] }, null],
  ])('by %j removes %j', async (filters, deleted) => {
    expect(await prune(filters)).toEqual({ NetworksDeleted: deleted });
    expect(await names({ name: ['ingress', 'front'] })).toEqual(['ingress', 'front']);
  });

  it('refuses filters that nobody knows before anything is removed', async () => {
    await expect(prune({ nosuch: ['x'] })).rejects.toThrow("invalid filter 'nosuch'");
    expect(await names({ name: ['back', 'blue'] })).toEqual(['blue', 'back']);
  });

  it('goes on with the others where one cannot be removed', async () => {
    isFailing = true;
    expect(await prune()).toEqual({ NetworksDeleted: ['blue'] });
  });

  it('leaves those of the swarm alone on workers', async () => {
    here('s2', 'back').members.clear();
    swarm.role = 'active/worker';
    expect(await prune()).toEqual({ NetworksDeleted: ['blue'] });
    expect(await names({ scope: ['swarm'] })).toEqual(['back']);
  });
});
