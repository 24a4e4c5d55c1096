import { describe, expect, test } from 'vitest';
import type { EndpointSpec } from '../../../../../api/types/swarm/service.ts';
import type { NetworkAddresses } from '../../../../../swarm/objects/network.ts';
import { put, remove, type Write } from '../../../../../swarm/objects/parts.ts';
import { TaskState } from '../../../../../swarm/objects/task-state.ts';
import { networkWrite, nodeState, nodeWrites, serviceWrites } from '../../../../support/swarm/builders.ts';
import { PlannedCluster } from '../../../../support/swarm/planned-cluster.ts';

const GONE = 'n'.repeat(25);

/** A service of so many replicas in these networks. */
function service(
  id: string,
  networks: readonly string[],
  {
    replicas = 2,
    template = 1,
    endpoint,
  }: { replicas?: number; template?: number; endpoint?: EndpointSpec } = {},
): Write[] {
  return serviceWrites(
    id,
    {
      TaskTemplate: { ContainerSpec: { Image: 'busybox' }, Networks: networks.map((Target) => ({ Target })) },
      Mode: { Replicated: { Replicas: replicas } },
      ...(endpoint ? { EndpointSpec: endpoint } : {}),
    },
    { template, templatesIssued: template },
  );
}

const told = (networks: readonly NetworkAddresses[] | undefined): string =>
  (networks ?? []).map(({ network, addresses }) => `${network}:${addresses.join(',')}`).join(' ');
const vips = (cluster: PlannedCluster, id: string): string => told(cluster.state.services.get(id)?.run?.vips);
const ofTasks = (cluster: PlannedCluster, id: string): string[] =>
  cluster.wanted(id).map(({ record }) => told(record.networks));
const refusals = (cluster: PlannedCluster, id: string): (string | undefined)[] =>
  cluster.wanted(id).map(({ record }) => record.refusal?.error);
const ofNode = (cluster: PlannedCluster, id: string): string =>
  told(cluster.state.nodeAddresses.get(id)?.networks);
const full = (name: string, family = 'IPv4'): string =>
  `no available ${family} addresses on this network's address pools: ${name} (${name})`;
const published: EndpointSpec = { Ports: [{ TargetPort: 80 }] };

/** Six addresses: the gateway, a VIP, and four tasks. */
const crowded = (): PlannedCluster =>
  new PlannedCluster(
    [networkWrite('a', ['10.1.0.0/29'])],
    nodeWrites('n'),
    service('s', ['a'], { replicas: 6 }),
  ).settle();

const inNetworks = (endpoint?: EndpointSpec): PlannedCluster =>
  new PlannedCluster(
    [networkWrite('a'), networkWrite('b', ['10.2.0.0/16']), networkWrite('ingress', ['10.0.0.0/24'])],
    nodeWrites('n'),
    service('s', ['a'], endpoint ? { endpoint } : {}),
  ).settle();

const attachment = (id: string, network: string, node: string): Write =>
  put('attachment', { id, created: 0, network, node, container: id, names: [], addresses: [`10.1.0.9`] });

describe('what services and tasks are given', () => {
  test.each<
    [what: string, networks: string[], endpoint: EndpointSpec | undefined, vip: string, task: string]
  >([
    ['nothing without networks', [], undefined, '', ''],
    ['one network', ['a'], undefined, 'a:10.1.0.2', 'a:10.1.0.3'],
    ['two networks', ['a', 'b'], undefined, 'a:10.1.0.2 b:10.2.0.2', 'a:10.1.0.3 b:10.2.0.3'],
    ['a network twice', ['a', 'a'], undefined, 'a:10.1.0.2', 'a:10.1.0.3'],
    ['82: no VIP with dnsrr', ['a'], { Mode: 'dnsrr' }, '', 'a:10.1.0.2'],
    ['both families', ['dual'], undefined, 'dual:10.3.0.2,fd00::2', 'dual:10.3.0.3,fd00::3'],
    ['ingress for published ports', [], published, 'ingress:10.0.0.3', 'ingress:10.0.0.4'],
    ['ingress and its own', ['a'], published, 'ingress:10.0.0.3 a:10.1.0.2', 'ingress:10.0.0.4 a:10.1.0.3'],
    ['nothing for ports of a host', [], { Ports: [{ TargetPort: 80, PublishMode: 'host' }] }, '', ''],
    ['nothing in networks that each node has', ['host', 'macvlan1'], undefined, '', ''],
    ['a range, without what else is there', ['range'], undefined, 'range:10.4.0.129', 'range:10.4.0.131'],
  ])('%s', (_what, networks, endpoint, vip, task) => {
    const cluster = new PlannedCluster(
      [
        networkWrite('ingress', ['10.0.0.0/24']),
        networkWrite('a', ['10.1.0.0/16']),
        networkWrite('b', ['10.2.0.0/16']),
        networkWrite('dual', ['fd00::/64', '10.3.0.0/16']),
        rangeNetwork(),
      ],
      nodeWrites('n'),
      service('s', networks, { replicas: 1, ...(endpoint ? { endpoint } : {}) }),
    );
    expect([vips(cluster, 's'), ofTasks(cluster, 's')]).toEqual([vip, [task]]);
    const writes = cluster.written.filter(({ part }) => part === 'task');
    expect(writes.map(({ value }) => value !== null && 'node' in value)).toEqual([true]);
    expect(cluster.settle().running('s')).toEqual(['1@n']);
  });

  test('an address is given again only when all others were', () => {
    const cluster = new PlannedCluster(
      [networkWrite('a', ['10.1.0.0/29'])],
      nodeWrites('n'),
      service('s', ['a']),
    );
    expect([vips(cluster, 's'), ofTasks(cluster, 's')]).toEqual(['a:10.1.0.2', ['a:10.1.0.3', 'a:10.1.0.4']]);
    const given: string[] = [];
    for (let round = 0; round < 4; round += 1) {
      cluster.settle();
      const [task] = cluster.wanted('s');
      cluster.report(task?.id ?? '', TaskState.failed);
      given.push(told(cluster.tasks('s').at(-1)?.record.networks));
      cluster.advance(10_000);
    }
    expect(given).toEqual(['a:10.1.0.5', 'a:10.1.0.6', 'a:10.1.0.3', 'a:10.1.0.4']);
  });

  test('88: another leader gives nothing twice, and goes on where the last one was', () => {
    const cluster = new PlannedCluster([networkWrite('a')], nodeWrites('n'), service('s', ['a'])).settle();
    const [task] = cluster.wanted('s');
    cluster.lead();
    cluster.report(task?.id ?? '', TaskState.failed);
    expect(told(cluster.tasks('s').at(-1)?.record.networks)).toBe('a:10.1.0.5');
    cluster.lead();
    expect(cluster.change(...service('t', ['a'], { replicas: 1 })).length).toBeGreaterThan(0);
    expect([vips(cluster, 't'), ofTasks(cluster, 't')]).toEqual(['a:10.1.0.6', ['a:10.1.0.7']]);
    expect([...cluster.state.addresses.entries()].every(({ holders }) => holders === 1)).toBe(true);
  });
});

function rangeNetwork(): Write {
  const network = networkWrite('range');
  if (network.part === 'network' && network.value?.overlay !== undefined) {
    network.value.overlay.ipam.config = [
      {
        Subnet: '10.4.0.0/24',
        Gateway: '10.4.0.128',
        IPRange: '10.4.0.128/25',
        AuxiliaryAddresses: { router: '10.4.0.130' },
      },
    ];
  }
  return network;
}

describe('87: networks that are full', () => {
  test('tasks say so, once, and are not placed', () => {
    const cluster = crowded();
    expect(cluster.running('s')).toHaveLength(4);
    expect(refusals(cluster, 's').filter((error) => error === full('a'))).toHaveLength(2);
    expect(cluster.pass()).toEqual([]);
    const waiting = cluster.wanted('s').find(({ record }) => record.refusal !== undefined);
    expect([waiting?.record.node, waiting?.record.refusal?.state]).toEqual([undefined, TaskState.new]);
  });

  test('one runs for each address that is freed, at once', () => {
    const cluster = crowded();
    cluster.change(...service('s', ['a'], { replicas: 5 }));
    cluster.settle();
    expect([cluster.running('s').length, refusals(cluster, 's').filter(Boolean)]).toEqual([4, [full('a')]]);
    const [failed] = cluster.wanted('s');
    const writes = cluster.report(failed?.id ?? '', TaskState.failed);
    // The one that waited takes the place of the one that failed, whose successor waits now.
    expect(writes.filter(({ part }) => part === 'task')).toHaveLength(3);
    expect(cluster.settle().running('s')).toHaveLength(4);
    expect(refusals(cluster, 's').filter(Boolean)).toEqual([full('a')]);
  });

  test('one that a task could not use, for want of one in another network, is there for the next one', () => {
    const endpoint: EndpointSpec = { Mode: 'dnsrr' };
    const cluster = new PlannedCluster(
      [networkWrite('a', ['10.1.0.0/29']), networkWrite('b', ['10.2.0.0/30'])],
      nodeWrites('n'),
      service('x', ['b'], { replicas: 1, endpoint }),
      service('s', ['a'], { replicas: 6, endpoint }),
    ).settle();
    cluster.change(...service('t', ['a', 'b'], { replicas: 1, endpoint }));
    expect([cluster.running('s').length, refusals(cluster, 't')]).toEqual([5, [full('a')]]);
    cluster.change(...service('s', ['a'], { replicas: 4, endpoint }));
    cluster.settle();
    expect([cluster.running('s').length, refusals(cluster, 't')]).toEqual([4, [full('b')]]);
    cluster.change(...service('s', ['a'], { replicas: 5, endpoint }));
    expect(cluster.settle().running('s')).toHaveLength(5);
  });

  test('a service waits for its VIP, then runs', () => {
    const cluster = crowded();
    cluster.change(...service('t', ['a'], { replicas: 1 }));
    expect([vips(cluster, 't'), refusals(cluster, 't')]).toEqual(['', [full('a')]]);
    cluster.change(remove('service', 's'));
    cluster.settle();
    expect([vips(cluster, 't'), cluster.running('t')]).toEqual(['a:10.1.0.2', ['1@n']]);
  });

  test('one family may be full alone', () => {
    const cluster = new PlannedCluster(
      [networkWrite('a', ['10.1.0.0/16', 'fd00::/126'])],
      nodeWrites('n'),
      service('s', ['a'], { replicas: 3 }),
    );
    expect(refusals(cluster, 's').filter(Boolean)).toEqual([full('a', 'IPv6'), full('a', 'IPv6')]);
  });

  test('89: a task of a node that is down keeps its address until it is known to be over', () => {
    const cluster = crowded();
    cluster.change(...nodeWrites('m'), nodeState('n', 'down'));
    expect(
      cluster
        .advance(60_000)
        .running('s')
        .filter((task) => task.endsWith('@m')),
    ).toEqual([]);
    cluster.change(remove('node', 'n'), remove('nodeState', 'n'), remove('nodeDescription', 'n'));
    expect(cluster.advance(60_000).running('s')).toHaveLength(4);
  });

  test('89: after a day what became of the tasks is held for unknown, and their addresses are given again', () => {
    const cluster = crowded();
    const lost = cluster.wanted('s').filter(({ record }) => record.node === 'n');
    cluster.change(...nodeWrites('m'), nodeState('n', 'down'));
    cluster.advance(60_000);
    const onOther = (): string[] => cluster.running('s').filter((task) => task.endsWith('@m'));
    expect(onOther()).toEqual([]);
    // As the dispatcher does it for a node that was down for 24 h.
    lost.forEach(({ id }) => cluster.report(id, TaskState.orphaned));
    cluster.advance(60_000);
    expect(onOther()).toHaveLength(4);
    expect([...cluster.state.addresses.entries()].every(({ holders }) => holders === 1)).toBe(true);
  });
});

describe('networks that are not there', () => {
  test.each([
    [[GONE], undefined, `network ${GONE} not found`],
    [[], published, 'service needs ingress network, but no ingress network is present'],
  ])('tasks for %j %j wait and say so', (networks, endpoint, error) => {
    const more = { replicas: 1, ...(endpoint ? { endpoint } : {}) };
    const cluster = new PlannedCluster(nodeWrites('n'), service('s', networks, more));
    expect(refusals(cluster, 's')).toEqual([error]);
    cluster.change(networkWrite(GONE), networkWrite('ingress', ['10.2.0.0/24']));
    expect(cluster.settle().running('s')).toEqual(['1@n']);
    expect(refusals(cluster, 's')).toEqual([undefined]);
  });

  test('tasks run on in a network that was removed meanwhile', () => {
    const cluster = new PlannedCluster([networkWrite(GONE)], nodeWrites('n'), service('s', [GONE])).settle();
    cluster.change(remove('network', GONE));
    expect(cluster.advance(60_000).running('s')).toEqual(['1@n', '2@n']);
    const [task] = cluster.wanted('s');
    cluster.report(task?.id ?? '', TaskState.failed);
    expect(refusals(cluster.advance(60_000), 's')).toContain(`network ${GONE} not found`);
    cluster.change(...service('s', [], { template: 2 }));
    cluster.advance(60_000);
    expect([cluster.running('s'), vips(cluster, 's')]).toEqual([['1@n', '2@n'], '']);
    expect([...cluster.state.addresses.entries()]).toEqual([]);
  });
});

describe('VIPs over updates', () => {
  test.each<
    [
      what: string,
      before: EndpointSpec | undefined,
      to: string[],
      after: EndpointSpec | undefined,
      string,
      string,
    ]
  >([
    ['one is added', undefined, ['a', 'b'], undefined, 'a:10.1.0.2 b:10.2.0.2', 'a:10.1.0.2 b:10.2.0.2'],
    ['another one', undefined, ['b'], undefined, 'a:10.1.0.2 b:10.2.0.2', 'b:10.2.0.2'],
    ['none', undefined, [], undefined, 'a:10.1.0.2', ''],
    ['82: dnsrr', undefined, ['a'], { Mode: 'dnsrr' }, 'a:10.1.0.2', ''],
    ['ports', undefined, ['a'], published, 'a:10.1.0.2 ingress:10.0.0.3', 'a:10.1.0.2 ingress:10.0.0.3'],
    ['no ports', published, ['a'], undefined, 'ingress:10.0.0.3 a:10.1.0.2', 'a:10.1.0.2'],
    ['85: nothing of networks', undefined, ['a'], { Mode: 'vip' }, 'a:10.1.0.2', 'a:10.1.0.2'],
  ])('%s: at the beginning and at the end', (_what, before, to, after, first, last) => {
    const updated = inNetworks(before);
    updated.change(...service('s', to, { template: 2, ...(after ? { endpoint: after } : {}) }));
    expect(vips(updated, 's')).toBe(first);
    updated.advance(60_000);
    expect([updated.running('s'), vips(updated, 's')]).toEqual([['1@n', '2@n'], last]);
  });

  test('all is free when the service is gone', () => {
    const removed = inNetworks(published);
    removed.change(remove('service', 's'));
    removed.settle();
    expect([...removed.state.addresses.entries()].map(({ address }) => address)).toEqual(['10.0.0.2']);
  });
});

describe('nodes', () => {
  const ingress = networkWrite('ingress', ['10.0.0.0/29']);

  test('each has one from when it is ready until it is removed', () => {
    const cluster = new PlannedCluster([ingress], nodeWrites('m'), nodeWrites('n'));
    expect(['m', 'n'].map((id) => ofNode(cluster, id))).toEqual(['ingress:10.0.0.2', 'ingress:10.0.0.3']);
    cluster.change(nodeState('n', 'down'));
    expect(ofNode(cluster, 'n')).toBe('ingress:10.0.0.3');
    cluster.change(remove('node', 'n'), remove('nodeState', 'n'), remove('nodeDescription', 'n'));
    expect(ofNode(cluster, 'n')).toBe('');
  });

  test('one that was never ready has none', () => {
    const cluster = new PlannedCluster([ingress, ...nodeWrites('n'), nodeState('n', 'unknown')]);
    expect(ofNode(cluster, 'n')).toBe('');
    cluster.change(nodeState('n', 'ready'));
    expect(ofNode(cluster, 'n')).toBe('ingress:10.0.0.2');
  });

  test('90: they follow the ingress network', () => {
    const cluster = new PlannedCluster(nodeWrites('n'));
    expect(ofNode(cluster, 'n')).toBe('');
    cluster.change(ingress);
    expect(ofNode(cluster, 'n')).toBe('ingress:10.0.0.2');
    cluster.change(remove('network', 'ingress'));
    expect(ofNode(cluster, 'n')).toBe('');
    cluster.change(networkWrite('other', ['10.9.0.0/24'], { ingress: true }));
    expect(ofNode(cluster, 'n')).toBe('other:10.9.0.2');
  });

  test('one more than there are addresses gets its own when another is removed', () => {
    const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
    const cluster = new PlannedCluster([ingress, ...ids.flatMap((id) => nodeWrites(id))]);
    expect(ids.map((id) => ofNode(cluster, id)).filter((address) => address === '')).toHaveLength(1);
    cluster.change(remove('node', 'a'), remove('nodeState', 'a'), remove('nodeDescription', 'a'));
    expect(ids.slice(1).map((id) => ofNode(cluster, id))).not.toContain('');
  });

  test('attachments of a node or a network that is gone go with it', () => {
    const cluster = new PlannedCluster(
      [networkWrite('a'), networkWrite('b')],
      nodeWrites('n'),
      nodeWrites('m'),
      [attachment('x', 'a', 'n'), attachment('y', 'a', 'm'), attachment('z', 'b', 'm')],
    );
    cluster.change(nodeState('m', 'down'));
    expect([...cluster.state.attachments.keys()]).toEqual(['x', 'y', 'z']);
    cluster.change(remove('node', 'n'), remove('nodeState', 'n'), remove('nodeDescription', 'n'));
    cluster.change(remove('network', 'b'));
    expect([...cluster.state.attachments.keys()]).toEqual(['y']);
  });
});
