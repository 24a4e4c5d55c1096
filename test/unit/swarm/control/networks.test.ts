import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { NetworkCreateRequest } from '../../../../api/types/system.ts';
import { initOptions } from '../../../../swarm/membership/init-options.ts';
import { put } from '../../../../swarm/objects/parts.ts';
import { TaskState } from '../../../../swarm/objects/task-state.ts';
import { CLUSTER_ID, controlRig, NOBODY, type ControlRig } from '../../../support/swarm/control-rig.ts';
import { completeSwarmSpec } from '../../../../swarm/control/swarm/spec.ts';

const VNI_LIST = 'com.docker.network.driver.overlay.vxlanid_list';
const OPTIONS = { pinImage: false, signal: NOBODY };
const RPC = 'rpc error: code = ';

let rig: ControlRig;

beforeEach(async () => {
  rig = await controlRig();
});

afterEach(() => rig[Symbol.asyncDispose]());

async function create(request: NetworkCreateRequest): Promise<string> {
  return (await rig.control.networks.create({ Driver: 'overlay', ...request })).Id;
}

const one = (id: string) => rig.control.networks.list().find((network) => network.Id === id);
const subnets = (): (string | undefined)[] =>
  rig.control.networks.list().flatMap(({ IPAM }) => IPAM.Config.map(({ Subnet }) => Subnet));

async function pools(options: { DefaultAddrPool: string[]; SubnetSize: number }): Promise<void> {
  await rig.context.cluster.commit({
    conditions: [],
    parts: [
      put('cluster', {
        id: CLUSTER_ID,
        created: 1,
        updated: 2,
        spec: completeSwarmSpec({}),
        ...initOptions(options),
      }),
    ],
  });
}

test('create: is shown with a subnet, a gateway and a VXLAN id of its own', async () => {
  const id = await create({ Name: 'front', Attachable: true, Labels: { a: 'b' }, Options: { x: 'y' } });
  expect(id).toMatch(/^[0-9a-z]{25}$/);
  expect(one(id)).toEqual({
    Name: 'front',
    Id: id,
    Created: expect.stringMatching(/^20\d\d-.*Z$/),
    Scope: 'swarm',
    Driver: 'overlay',
    EnableIPv4: true,
    EnableIPv6: false,
    IPAM: { Driver: 'default', Options: null, Config: [{ Subnet: '10.0.0.0/24', Gateway: '10.0.0.1' }] },
    Internal: false,
    Attachable: true,
    Ingress: false,
    ConfigFrom: { Network: '' },
    ConfigOnly: false,
    Containers: {},
    Options: { x: 'y', [VNI_LIST]: '4097' },
    Labels: { a: 'b' },
  });
});

test('create: the ingress network has the first VXLAN id, others follow', async () => {
  const ingress = await create({ Name: 'ingress', Ingress: true });
  const front = await create({ Name: 'front' });
  const back = await create({ Name: 'back', Internal: true });
  expect([ingress, front, back].map((id) => one(id)?.Options[VNI_LIST])).toEqual(['4096', '4097', '4098']);
  expect(subnets()).toEqual(['10.0.0.0/24', '10.0.1.0/24', '10.0.2.0/24']);
  expect(one(ingress)?.Ingress).toBe(true);
  expect(one(back)?.Internal).toBe(true);
});

describe('create: takes what the user says of addresses', () => {
  test.each<[what: string, request: NetworkCreateRequest, config: unknown]>([
    [
      'a subnet, whose first address is the gateway',
      { IPAM: { Config: [{ Subnet: '192.168.7.0/24' }] } },
      [{ Subnet: '192.168.7.0/24', Gateway: '192.168.7.1' }],
    ],
    [
      'all of a subnet',
      {
        IPAM: {
          Config: [
            {
              Subnet: '10.9.0.0/16',
              IPRange: '10.9.8.0/24',
              Gateway: '10.9.0.254',
              AuxiliaryAddresses: { router: '10.9.8.9' },
            },
          ],
        },
      },
      [
        {
          Subnet: '10.9.0.0/16',
          IPRange: '10.9.8.0/24',
          Gateway: '10.9.0.254',
          AuxiliaryAddresses: { router: '10.9.8.9' },
        },
      ],
    ],
    [
      'an IPv6 subnet beside one that is chosen',
      { EnableIPv6: true, IPAM: { Config: [{ Subnet: 'fd00:1::/64' }] } },
      [
        { Subnet: '10.0.0.0/24', Gateway: '10.0.0.1' },
        { Subnet: 'fd00:1::/64', Gateway: 'fd00:1::1' },
      ],
    ],
    [
      'IPv6 alone: both are chosen',
      { EnableIPv6: true },
      [
        { Subnet: '10.0.0.0/24', Gateway: '10.0.0.1' },
        { Subnet: expect.stringMatching(/^fd.*::\/64$/), Gateway: expect.stringMatching(/^fd.*::1$/) },
      ],
    ],
  ])('%s', async (_what, request, config) => {
    const id = await create({ Name: 'front', ...request });
    expect(one(id)?.IPAM.Config).toEqual(config);
  });
});

test('create: takes the VXLAN id and MTU that the user says', async () => {
  const mtu = { 'com.docker.network.driver.mtu': '1400' };
  const id = await create({ Name: 'front', Options: { [VNI_LIST]: '5000', ...mtu } });
  expect(one(id)?.Options).toEqual({ [VNI_LIST]: '5000', ...mtu });
  expect(one(await create({ Name: 'back' }))?.Options[VNI_LIST]).toBe('4097');
});

describe('create: refuses', () => {
  test.each<[what: string, request: NetworkCreateRequest, code: string, message: string]>([
    ['no name', { Name: '' }, 'invalid_argument', `${RPC}InvalidArgument desc = meta: name must be provided`],
    [
      'a name that is no DNS name',
      { Name: 'a b' },
      'invalid_argument',
      `${RPC}InvalidArgument desc = name must be valid as a DNS name component`,
    ],
    [
      'a network of each node',
      { Name: 'bridge' },
      'forbidden',
      'bridge is a pre-defined network and cannot be created',
    ],
    ['a name of this host', { Name: 'blue' }, 'conflict', 'network with name blue already exists'],
    [
      'another driver',
      { Driver: 'macvlan', Scope: 'swarm' },
      'not_implemented',
      'network front: Driver macvlan with Scope swarm is not supported: make a network of this name and driver on ' +
        'each node, which services can name then',
    ],
    [
      'another driver for ingress',
      { Driver: 'bridge', Ingress: true },
      'not_implemented',
      `${RPC}Unimplemented desc = only overlay driver is currently supported for ingress network`,
    ],
    [
      'another scope',
      { Scope: 'global' },
      'invalid_argument',
      'network front: invalid Scope "global": expected local or swarm',
    ],
    [
      'scope local',
      { Scope: 'local' },
      'forbidden',
      'network front: driver overlay is of scope swarm, it makes no networks of scope local',
    ],
    [
      'an attachable ingress network',
      { Ingress: true, Attachable: true },
      'invalid_argument',
      `${RPC}InvalidArgument desc = ingress network cannot be attachable`,
    ],
    [
      'the label of predefined networks',
      { Labels: { 'com.docker.swarm.predefined': 'true' } },
      'forbidden',
      `${RPC}PermissionDenied desc = label com.docker.swarm.predefined is for internally created predefined networks ` +
        'and cannot be applied by users',
    ],
    [
      'an MTU that is none',
      { Options: { 'com.docker.network.driver.mtu': 'big' } },
      'invalid_argument',
      'invalid network option "com.docker.network.driver.mtu": "big": expected a number from 68 to 65485',
    ],
    [
      'an MTU too small for IPv6',
      { EnableIPv6: true, Options: { 'com.docker.network.driver.mtu': '1000' } },
      'invalid_argument',
      'invalid network option "com.docker.network.driver.mtu": "1000": expected a number from 1280 to 65485',
    ],
    [
      'a VXLAN id of text',
      { Options: { [VNI_LIST]: 'x' } },
      'invalid_argument',
      'invalid vxlan id value "x" passed',
    ],
    [
      'a VXLAN id of 25 bits',
      { Options: { [VNI_LIST]: '16777216' } },
      'invalid_argument',
      'invalid vxlan id value "16777216" passed',
    ],
    [
      'several VXLAN ids',
      { Options: { [VNI_LIST]: '5000,5001' } },
      'invalid_argument',
      `invalid network option "${VNI_LIST}": "5000,5001": a network has one VXLAN id`,
    ],
    [
      'a VXLAN id that is taken',
      { Options: { [VNI_LIST]: '4097' } },
      'forbidden',
      'vxlan id 4097 is already in use by network taken',
    ],
    [
      'a subnet that is none',
      { IPAM: { Config: [{ Subnet: '10.0.0.0' }] } },
      'invalid_argument',
      'invalid subnet 10.0.0.0: invalid CIDR block notation',
    ],
    [
      'a gateway outside',
      { IPAM: { Config: [{ Subnet: '10.5.0.0/24', Gateway: '10.6.0.1' }] } },
      'invalid_argument',
      "invalid gateway address 10.6.0.1: parent subnet 10.5.0.0/24 doesn't contain this address",
    ],
    [
      'a subnet of another network',
      { IPAM: { Config: [{ Subnet: '10.0.0.0/16' }] } },
      'forbidden',
      'invalid pool request: Pool overlaps with other one on this address space: 10.0.0.0/16 with 10.0.0.0/24 of ' +
        'network taken',
    ],
    [
      'an IPv6 subnet without IPv6',
      { IPAM: { Config: [{ Subnet: 'fd00::/64' }] } },
      'invalid_argument',
      'IPAM.Config: subnet fd00::/64 needs EnableIPv6',
    ],
    ['an IPAM driver', { IPAM: { Driver: 'infoblox' } }, 'not_found', 'ipam plugin "infoblox" not found'],
    [
      'an IPAM option',
      { IPAM: { Options: { x: 'y' } } },
      'invalid_argument',
      'network front: IPAM option "x" is not supported',
    ],
    [
      'no IPv4',
      { EnableIPv4: false },
      'invalid_argument',
      'network front: EnableIPv4 false is not supported: networks have IPv4, always',
    ],
    [
      'settings of a network of one host',
      { ConfigFrom: { Network: 'c' } },
      'not_implemented',
      'network front: ConfigFrom "c" names a network of one node, from which networks of scope swarm take nothing',
    ],
    [
      'settings for others',
      { ConfigOnly: true, Scope: 'swarm' },
      'forbidden',
      'configuration network can only contain network specific fields. Network operator fields like ' +
        '[ ingress | internal | attachable | scope ] are not supported.',
    ],
  ])('%s', async (_what, request, code, message) => {
    await create({ Name: 'taken' });
    await expect(create({ Name: 'front', ...request })).rejects.toMatchObject({ code, message });
  });
});

test('create: one name, one ingress network', async () => {
  const ingress = await create({ Name: 'ingress', Ingress: true });
  await expect(create({ Name: 'ingress' })).rejects.toMatchObject({
    code: 'conflict',
    message: 'network with name ingress already exists',
  });
  await expect(create({ Name: 'mine', Ingress: true })).rejects.toMatchObject({
    code: 'conflict',
    message: `${RPC}AlreadyExists desc = ingress network (${ingress}) is already present`,
  });
});

test('create: twenty at the same time have different subnets and VXLAN ids', async () => {
  const ids = await Promise.all(Array.from({ length: 20 }, (_, at) => create({ Name: `n${at}` })));
  expect(new Set(ids.map((id) => one(id)?.Options[VNI_LIST])).size).toBe(20);
  expect(new Set(subnets()).size).toBe(20);
});

test('create: a subnet with the address of a node is nobody else’s', async () => {
  const node = { role: 'manager', state: 'ready', message: '', since: 1 } as const;
  await rig.context.cluster.commit({
    conditions: [],
    parts: [
      put('nodeState', { ...node, id: 'a', addr: '10.0.0.7' }),
      put('nodeState', { ...node, id: 'b', addr: '192.168.0.1', dataAddr: '10.0.1.9' }),
    ],
  });
  await create({ Name: 'front' });
  expect(subnets()).toEqual(['10.0.2.0/24']);
});

test('86: pools are used one after the other, and told when none has a subnet left', async () => {
  await pools({ DefaultAddrPool: ['10.1.0.0/23', '10.2.0.0/24'], SubnetSize: 24 });
  for (const Name of ['a', 'b', 'c']) {
    await create({ Name });
  }
  expect(subnets()).toEqual(['10.1.0.0/24', '10.1.1.0/24', '10.2.0.0/24']);
  await expect(create({ Name: 'd' })).rejects.toMatchObject({
    code: 'resource_exhausted',
    message: expect.stringContaining('could not find an available, non-overlapping IPv4 address pool'),
  });
  await rig.control.networks.remove('b');
  await create({ Name: 'd' });
  expect(subnets()).toContain('10.1.1.0/24');
});

test('remove: the name is free at once, and the VXLAN id comes last', async () => {
  const first = await create({ Name: 'front' });
  await rig.control.networks.remove('front');
  expect(rig.control.networks.list()).toEqual([]);
  const second = await create({ Name: 'front' });
  expect(second).not.toBe(first);
  expect(one(second)?.Options[VNI_LIST]).toBe('4098');
  await expect(rig.control.networks.remove(first)).rejects.toMatchObject({
    code: 'not_found',
    message: `network ${first} not found`,
  });
});

test('remove: refused while a service names it, while a task of an earlier specification runs', async () => {
  const id = await create({ Name: 'front' });
  const { services, networks } = rig.control;
  const spec = {
    Name: 'web',
    TaskTemplate: { ContainerSpec: { Image: 'busybox' }, Networks: [{ Target: 'front' }] },
  };
  const { ID } = await services.create(spec, OPTIONS);
  await expect(networks.remove('front')).rejects.toMatchObject({
    code: 'invalid_argument',
    message: `${RPC}FailedPrecondition desc = network ${id} is in use by service ${ID}`,
  });
  const { Version } = await services.inspect('web', { insertDefaults: false });
  await services.update(
    'web',
    { ...spec, TaskTemplate: { ...spec.TaskTemplate, Networks: [] } },
    { ...OPTIONS, version: Version.Index ?? 0, registryAuthFrom: '', rollback: '' },
  );
  const task = (desired: TaskState) =>
    put('task', {
      id: 't',
      service: ID,
      slot: 1,
      node: 'n',
      template: 1,
      desired,
      created: 1,
      updated: 1,
      networks: [{ network: id, addresses: ['10.0.0.3'] }],
    });
  await rig.context.cluster.commit({ conditions: [], parts: [task(TaskState.running)] });
  await expect(networks.remove('front')).rejects.toMatchObject({
    code: 'invalid_argument',
    message: `${RPC}FailedPrecondition desc = network ${id} is in use by task t`,
  });
  await rig.context.cluster.commit({ conditions: [], parts: [task(TaskState.shutdown)] });
  await networks.remove('front');
});

test('remove: the ingress network is refused while a service has a port published by it', async () => {
  await create({ Name: 'mesh', Ingress: true });
  const { services, networks } = rig.control;
  const task = { ContainerSpec: { Image: 'busybox' } };
  const { ID } = await services.create(
    { Name: 'web', TaskTemplate: task, EndpointSpec: { Ports: [{ TargetPort: 80 }] } },
    OPTIONS,
  );
  await expect(networks.remove('mesh')).rejects.toMatchObject({
    code: 'invalid_argument',
    message: `${RPC}FailedPrecondition desc = ingress network cannot be removed because service ${ID} depends on it`,
  });
  await services.remove('web');
  await networks.remove('mesh');
});

test('remove: right after the service that names it, whose tasks still run', async () => {
  const id = await create({ Name: 'front' });
  const { services, networks } = rig.control;
  const task = { ContainerSpec: { Image: 'busybox' }, Networks: [{ Target: id.slice(0, 9) }] };
  const { ID } = await services.create({ Name: 'web', TaskTemplate: task }, OPTIONS);
  await rig.context.cluster.commit({
    conditions: [],
    parts: [
      put('task', {
        id: 't',
        service: ID,
        node: 'n',
        template: 1,
        desired: TaskState.running,
        created: 1,
        updated: 1,
        networks: [{ network: id, addresses: ['10.0.0.3'] }],
      }),
    ],
  });
  await services.remove('web');
  await networks.remove('front');
});

test('remove: refused while a container is attached', async () => {
  const id = await create({ Name: 'front', Attachable: true });
  const attachment = {
    id: 'x',
    created: 1,
    network: id,
    node: 'n',
    container: 'c',
    names: [],
    addresses: [],
  };
  await rig.context.cluster.commit({ conditions: [], parts: [put('attachment', attachment)] });
  await expect(rig.control.networks.remove(id)).rejects.toMatchObject({
    code: 'invalid_argument',
    message: `${RPC}FailedPrecondition desc = network ${id} is in use by task x`,
  });
});

test('isInUse: by services, and the ingress network by published ports', async () => {
  const front = await create({ Name: 'front' });
  const ingress = await create({ Name: 'mesh', Ingress: true });
  const inUse = (): boolean[] => [front, ingress].map((id) => rig.control.networks.isInUse(id));
  expect(inUse()).toEqual([false, false]);
  expect(rig.control.networks.isInUse('nosuch')).toBe(false);
  await rig.control.services.create(
    {
      Name: 'web',
      TaskTemplate: { ContainerSpec: { Image: 'busybox' }, Networks: [{ Target: 'front' }] },
      EndpointSpec: { Ports: [{ TargetPort: 80 }] },
    },
    OPTIONS,
  );
  expect(inUse()).toEqual([true, true]);
  await rig.control.services.remove('web');
  expect(inUse()).toEqual([false, false]);
});

test('statusOf: addresses that are taken and free, on all nodes', async () => {
  const id = await create({
    Name: 'counted',
    IPAM: { Config: [{ Subnet: '10.7.0.0/24', IPRange: '10.7.0.64/26' }] },
  });
  // Both ends and the gateway, none of them in the range.
  expect(rig.control.networks.statusOf(id)).toEqual({
    IPAM: { Subnets: { '10.7.0.0/24': { IPsInUse: 3, DynamicIPsAvailable: 64 } } },
  });
  expect(rig.control.networks.statusOf('nosuch')).toBeUndefined();
});
