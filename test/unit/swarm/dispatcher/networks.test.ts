import { describe, expect, test } from 'vitest';
import { limits } from '../../../../daemon/base/limits.ts';
import { put, remove, type Write } from '../../../../swarm/objects/parts.ts';
import { TaskState } from '../../../../swarm/objects/task-state.ts';
import type { TaskRecord } from '../../../../swarm/objects/task.ts';
import { NetworksParts } from '../../../../swarm/protocol/networks-parts.ts';
import {
  networkWrite,
  nodeWrites,
  serviceWrites,
  taskRecord,
  taskStatus,
} from '../../../support/swarm/builders.ts';
import { nodeAt, ToldCluster } from '../../../support/swarm/told-networks.ts';

const nodes = (...ids: string[]): Write[] =>
  ids.flatMap((id, index) => [...nodeWrites(id), nodeAt(id, `192.168.0.${index + 1}`)]);

const service = (id: string, ...networks: string[]): Write[] => labelled({}, id, ...networks);

const labelled = (Labels: Record<string, string>, id: string, ...networks: string[]): Write[] =>
  serviceWrites(id, {
    Labels,
    TaskTemplate: {
      ContainerSpec: { Image: 'busybox', Hostname: '{{.Node.Hostname}}-Box' },
      Networks: networks.map((Target) => ({ Target, Aliases: ['Alias'] })),
    },
  });

const task = (id: string, node: string, address: string, more: Partial<TaskRecord> = {}): Write =>
  put(
    'task',
    taskRecord(id, 's', { node, slot: 1, networks: [{ network: 'a', addresses: [address] }], ...more }),
  );

const running = (id: string): Write =>
  put('status', taskStatus(id, TaskState.running, 1, { container: { id: 'F'.repeat(64) } }));

const attachment = (id: string, node: string, network = 'a', addresses = ['10.1.0.9']): Write =>
  put('attachment', { id, created: 0, network, node, container: id, names: ['box'], addresses });

const ownAddress = (node: string, address: string): Write =>
  put('nodeAddresses', { id: node, networks: [{ network: 'ingress', addresses: [address] }] });

/** Two networks, a service in the first with a task on `n1`, nothing on the other nodes. */
const straight = (...more: Write[][]): ToldCluster =>
  new ToldCluster(
    [networkWrite('a'), networkWrite('b', ['10.2.0.0/16']), networkWrite('ingress', ['10.0.0.0/24'])],
    nodes('n1', 'n2', 'n3'),
    service('s', 'a'),
    [put('serviceRun', { id: 's', vips: [{ network: 'a', addresses: ['10.1.0.2'] }] })],
    [task('t1', 'n1', '10.1.0.3'), running('t1')],
    ...more,
  );

describe('which node is told of what', () => {
  test.each<[what: string, more: Write[], n1: string, n2: string]>([
    ['nothing where a node has nothing', [], 'a | a/s | a/t1', ' |  | '],
    ['every node with a task', [task('t2', 'n2', '10.1.0.4')], 'a | a/s | a/t1 a/t2', 'a | a/s | a/t1 a/t2'],
    [
      'a task that has ended counts no more',
      [put('status', taskStatus('t1', TaskState.complete))],
      ' |  | ',
      ' |  | ',
    ],
    ['a task without addresses neither', [task('t1', 'n1', '', { networks: [] })], ' |  | ', ' |  | '],
    ['a container that was attached', [attachment('x', 'n2', 'b')], 'a | a/s | a/t1', 'b |  | b/x'],
    [
      'every node with an address in the ingress network',
      [ownAddress('n1', '10.0.0.2'), ownAddress('n2', '10.0.0.3')],
      'a ingress | a/s | a/t1 ingress/node-n1 ingress/node-n2',
      'ingress |  | ingress/node-n1 ingress/node-n2',
    ],
    ['no node of a network that is gone', [remove('network', 'a')], ' |  | ', ' |  | '],
    [
      'no node of networks that each has by itself',
      [
        put('network', {
          id: 'a',
          created: 0,
          updated: 0,
          name: 'host',
          labels: {},
          driver: 'host',
          ingress: false,
          attachable: false,
        }),
      ],
      ' |  | ',
      ' |  | ',
    ],
    [
      'nobody of a node whose address is unknown',
      [nodeAt('n1', ''), task('t2', 'n2', '10.1.0.4')],
      ' |  | ',
      'a | a/s | a/t2',
    ],
  ])('%s', (_what, more, n1, n2) => {
    const before = straight();
    const [told1, told2] = [before.node('n1'), before.node('n2')];
    before.write(...more);
    told1.next();
    told2.next();
    const full = straight(more);
    expect([told1.ids, told2.ids]).toEqual([n1, n2]);
    expect([full.node('n1').ids, full.node('n2').ids]).toEqual([n1, n2]);
  });

  test('what is said of a network, of a service and of a task', () => {
    const { networks, endpoints, services } = straight().node('n1').known;
    expect(networks).toMatchObject([{ id: 'a', name: 'a', vni: 4097, ingress: false, nodeAddresses: [] }]);
    expect(services).toEqual([
      { network: 'a', id: 's', name: 's', vips: ['10.1.0.2'], aliases: ['alias'], ports: [] },
    ]);
    expect(endpoints).toEqual([
      {
        network: 'a',
        id: 't1',
        node: 'n1',
        nodeAddr: '192.168.0.1',
        addresses: ['10.1.0.3'],
        names: ['s.1.t1', 'n1-box', 'ffffffffffff'],
        service: 's',
        isReady: true,
      },
    ]);
  });

  test('published ports are of the ingress network, and the node has its own address in it', () => {
    const ports = [
      { Protocol: 'udp' as const, TargetPort: 80, PublishedPort: 8080, PublishMode: 'ingress' as const },
      { TargetPort: 81, PublishedPort: 8081, PublishMode: 'host' as const },
      { TargetPort: 82 },
    ];
    const vips = ['a', 'ingress'].map((network) => ({ network, addresses: ['10.0.0.9'] }));
    const cluster = straight([put('serviceRun', { id: 's', ports, vips }), ownAddress('n1', '10.0.0.2')]);
    const { networks, services } = cluster.node('n1').known;
    expect(networks).toMatchObject([{ id: 'a' }, { id: 'ingress', nodeAddresses: ['10.0.0.2'] }]);
    expect(services).toMatchObject([
      { network: 'a', ports: [] },
      {
        network: 'ingress',
        name: 's',
        aliases: [],
        ports: [{ protocol: 'udp', published: 8080, target: 80 }],
      },
    ]);
  });

  test.each([
    ['true', { preferLocal: true }],
    ['false', {}],
  ])('a service whose label says of local tasks that they are preferred: %s', (value, expected) => {
    const ports = [{ Protocol: 'tcp' as const, TargetPort: 80, PublishedPort: 8080 }];
    const vips = [{ network: 'ingress', addresses: ['10.0.0.9'] }];
    const cluster = straight([put('serviceRun', { id: 's', ports, vips }), ownAddress('n1', '10.0.0.2')]);
    const node = cluster.node('n1');
    cluster.write(...labelled({ 'berth.ingress.prefer-local': value }, 's', 'a'));
    node.next();
    expect(node.known.services).toContainEqual(
      expect.objectContaining({
        network: 'ingress',
        ports: [{ protocol: 'tcp', published: 8080, target: 80, ...expected }],
      }),
    );
  });
});

const ready = (cluster: ToldCluster): boolean[] =>
  (cluster.node('n1').known.endpoints as { isReady: boolean }[]).map(({ isReady }) => isReady);

describe('who takes new connections', () => {
  test.each<[what: string, more: Write[], expected: boolean[]]>([
    ['a task that runs', [], [true]],
    ['not one that starts', [put('status', taskStatus('t1', TaskState.starting))], [false]],
    ['not one that is to stop', [task('t1', 'n1', '10.1.0.3', { desired: TaskState.shutdown })], [false]],
    ['not one of a job', [task('t1', 'n1', '10.1.0.3', { iteration: 0 })], [false]],
    ['not one on a node that is down', [nodeAt('n1', '192.168.0.1', { down: true })], [false]],
    ['a container that was attached', [attachment('x', 'n2')], [true, true]],
    [
      'not one on a node that is down',
      [nodeAt('n2', '192.168.0.2', { down: true }), attachment('x', 'n2')],
      [true, false],
    ],
    ['no node', [ownAddress('n1', '10.0.0.2')], [true, false]],
  ])('%s', (_what, more, expected) => {
    expect(ready(straight(more))).toEqual(expected);
  });

  test('a node that is known to be down before the store has it, and back', () => {
    const cluster = straight([task('t2', 'n2', '10.1.0.4')]);
    const node = cluster.node('n2');
    cluster.down.add('n1');
    cluster.index.touchNode('n1');
    expect(node.next().before).toMatchObject([
      { full: false, networks: [], endpoints: [{ id: 't1', isReady: false }] },
    ]);
    cluster.down.delete('n1');
    cluster.index.touchNode('n1');
    expect(node.next().before).toMatchObject([{ endpoints: [{ id: 't1', isReady: true }] }]);
  });

  test('what is known of a task before the store has it', () => {
    const cluster = straight();
    const node = cluster.node('n1');
    cluster.statuses.set('t1', taskStatus('t1', TaskState.failed));
    cluster.index.touchTask('t1');
    expect(node.next()).toMatchObject({ before: [], after: [{ removedNetworks: ['a'] }] });
  });
});

describe('changes', () => {
  test('nothing is told where nothing is different', () => {
    const cluster = straight();
    const node = cluster.node('n1');
    cluster.write(task('t1', 'n1', '10.1.0.3', { updated: 9 }), ...service('s', 'a'), networkWrite('a'));
    cluster.write(task('t9', 'n2', '10.2.0.3', { networks: [{ network: 'b', addresses: ['10.2.0.3'] }] }));
    expect(node.next()).toEqual({ before: [], after: [] });
  });

  test('a node hears nothing of networks that it has nothing in', () => {
    const cluster = straight();
    const node = cluster.node('n2');
    cluster.write(running('t1'), attachment('x', 'n3'), remove('task', 't1'));
    expect(node.isTouched).toBe(false);
  });

  test("a network comes with all that is in it before the node's first task, and goes after its last", () => {
    const cluster = straight();
    const node = cluster.node('n2');
    cluster.write(task('t2', 'n2', '10.1.0.4'));
    expect(node.isTouched).toBe(true);
    const { before, after } = node.next();
    expect(after).toEqual([]);
    expect(before).toMatchObject([
      { networks: [{ id: 'a' }], services: [{ id: 's' }], endpoints: [{ id: 't1' }, { id: 't2' }] },
    ]);
    cluster.write(remove('task', 't2'));
    const gone = node.next();
    expect(gone.before).toEqual([]);
    // Of what was in it nothing is said.
    expect(gone.after).toMatchObject([{ removedNetworks: ['a'], removedEndpoints: [], removedServices: [] }]);
    expect(node.ids).toBe(' |  | ');
    cluster.write(remove('task', 't1'));
    expect(node.isTouched).toBe(false);
  });

  test('a task that came and went in between is not told of', () => {
    const cluster = straight();
    const node = cluster.node('n2');
    cluster.write(task('t2', 'n2', '10.1.0.4'));
    cluster.write(remove('task', 't2'));
    expect(node.next()).toEqual({ before: [], after: [] });
  });

  test('a task follows another on the same node: its network stays', () => {
    const cluster = straight();
    const node = cluster.node('n1');
    cluster.write(remove('task', 't1'), task('t2', 'n1', '10.1.0.4'));
    const { before, after } = node.next();
    expect(before).toMatchObject([
      { networks: [], endpoints: [{ id: 't2' }], removedEndpoints: [{ network: 'a', id: 't1' }] },
    ]);
    expect(after).toEqual([]);
  });

  test('a node that goes elsewhere, with another address for overlay traffic', () => {
    const cluster = straight([task('t2', 'n2', '10.1.0.4'), attachment('x', 'n1')]);
    const node = cluster.node('n2');
    cluster.write(nodeAt('n1', '192.168.0.9'));
    expect(node.next().before).toMatchObject([
      {
        endpoints: [
          { id: 't1', nodeAddr: '192.168.0.9' },
          { id: 'x', nodeAddr: '192.168.0.9' },
        ],
      },
    ]);
    cluster.write(nodeAt('n1', '192.168.0.9', { dataAddr: '172.16.0.1' }));
    expect(node.next().before).toMatchObject([
      { endpoints: [{ nodeAddr: '172.16.0.1' }, { nodeAddr: '172.16.0.1' }] },
    ]);
  });

  test('a node that is removed takes what it had along', () => {
    const cluster = straight([
      task('t2', 'n2', '10.1.0.4'),
      attachment('x', 'n1'),
      ownAddress('n1', '10.0.0.2'),
    ]);
    const node = cluster.node('n2');
    cluster.write(
      ...(['node', 'nodeState', 'nodeDescription', 'nodeAddresses'] as const).map((part) =>
        remove(part, 'n1'),
      ),
    );
    node.next();
    expect(node.ids).toBe('a | a/s | a/t2');
    cluster.write(remove('attachment', 'x'), remove('task', 't1'));
    expect(node.next()).toEqual({ before: [], after: [] });
  });

  test("a node's own address in the ingress network is another: the network is told again", () => {
    const cluster = straight([ownAddress('n1', '10.0.0.2')]);
    const node = cluster.node('n1');
    cluster.write(ownAddress('n1', '10.0.0.5'));
    expect(node.next().before).toMatchObject([
      {
        networks: [{ id: 'ingress', nodeAddresses: ['10.0.0.5'] }],
        endpoints: [{ id: 'node-n1', addresses: ['10.0.0.5'] }],
      },
    ]);
  });

  test('a service that is removed before its tasks: they keep their names', () => {
    const cluster = straight();
    const node = cluster.node('n1');
    cluster.write(remove('service', 's'), remove('template', 's/1'), remove('serviceRun', 's'));
    cluster.write(task('t1', 'n1', '10.1.0.3', { desired: TaskState.remove }));
    expect(node.next().before).toMatchObject([
      {
        removedServices: [{ network: 'a', id: 's' }],
        endpoints: [{ id: 't1', isReady: false, names: ['s.1.t1', 'n1-box', 'ffffffffffff'] }],
      },
    ]);
  });

  test('a session that is over is told nothing more', () => {
    const cluster = straight();
    const node = cluster.node('n1');
    node.set[Symbol.dispose]();
    cluster.write(remove('task', 't1'), task('t2', 'n1', '10.1.0.4'));
    expect([node.isTouched, node.next()]).toEqual([false, { before: [], after: [] }]);
  });

  test('what is too large for one message comes in parts, and is whole again at the end', () => {
    const many = Math.ceil(limits.swarmAssignmentsBytesMax / 150);
    const tasks = Array.from({ length: many }, (_, index) =>
      task(`t${index}`, 'n2', `10.1.${index >> 8}.${index & 255}`),
    );
    const node = straight(tasks).node('n2');
    expect(node.messages.length).toBeGreaterThan(1);
    expect(node.messages.map(({ more }) => more === true)).toEqual(
      node.messages.map((_, index) => index < node.messages.length - 1),
    );
    const parts = new NetworksParts();
    const whole = node.messages.map((message) => parts.take(message)).at(-1);
    expect(whole?.endpoints).toHaveLength(many);
    expect(node.known.endpoints).toHaveLength(whole?.endpoints.length ?? 0);
  });
});
