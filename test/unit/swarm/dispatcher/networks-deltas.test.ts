import { describe, expect, test } from 'vitest';
import { put, remove, type Write } from '../../../../swarm/objects/parts.ts';
import { TaskState } from '../../../../swarm/objects/task-state.ts';
import {
  networkWrite,
  nodeWrites,
  serviceWrites,
  taskRecord,
  taskStatus,
} from '../../../support/swarm/builders.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';
import { nodeAt, ToldCluster } from '../../../support/swarm/told-networks.ts';

const NODES = ['n1', 'n2', 'n3'];
const SERVICES = ['s1', 's2'];
const TASKS = ['t1', 't2', 't3', 't4', 't5', 't6'];
const ATTACHMENTS = ['x1', 'x2', 'x3'];

const newNetwork = (id: string): Write =>
  networkWrite(id, ['10.1.0.0/16'], { ingress: id.startsWith('ingress') });

/** Any change of anything, sensible or not: what nodes are told is made of whatever the store has. */
function change(random: SeededRandom, networks: string[]): Write[] {
  const one = <T>(list: readonly T[]): T => list[random.below(list.length)] as T;
  const some = (list: readonly string[]): string[] => list.filter(() => random.below(2) === 0);
  const given = (): { network: string; addresses: string[] }[] =>
    some(networks).map((network) => ({
      network,
      addresses: [`10.1.0.${random.below(9)}`].slice(random.below(5) === 0 ? 1 : 0),
    }));
  const isGone = random.below(4) === 0;
  const kinds: (() => Write | Write[])[] = [
    () => {
      const id = one(TASKS);
      const desired = one([TaskState.running, TaskState.shutdown]);
      return isGone
        ? remove('task', id)
        : put('task', taskRecord(id, one(SERVICES), { node: one(NODES), desired, networks: given() }));
    },
    () => {
      const id = one(TASKS);
      return isGone
        ? remove('status', id)
        : put('status', taskStatus(id, one([TaskState.starting, TaskState.running, TaskState.failed])));
    },
    () => {
      const id = one(ATTACHMENTS);
      const [network, node] = [one(networks), one(NODES)];
      return isGone
        ? remove('attachment', id)
        : put('attachment', {
            id,
            created: 0,
            network,
            node,
            container: id,
            names: [id],
            addresses: ['10.1.0.9'],
          });
    },
    () => {
      const id = one(NODES);
      return isGone
        ? remove('nodeState', id)
        : nodeAt(id, one(['', '192.168.0.1', '192.168.0.2']), { down: random.below(4) === 0 });
    },
    () => {
      const id = one(NODES);
      return isGone
        ? remove('nodeAddresses', id)
        : put('nodeAddresses', {
            id,
            networks: [{ network: 'ingress', addresses: [`10.0.0.${random.below(3)}`] }],
          });
    },
    () => {
      const index = random.below(networks.length);
      const id = networks[index] ?? '';
      if (isGone) {
        // The one that is made instead has another id.
        networks[index] = `${id}+`;
        return [remove('network', id), newNetwork(`${id}+`)];
      }
      return newNetwork(id);
    },
    () => {
      const Networks = some(networks).map((Target) => ({ Target, Aliases: some(['web', 'db']) }));
      const [write = remove('service', 's1')] = serviceWrites(one(SERVICES), { TaskTemplate: { Networks } });
      return write;
    },
    () => put('serviceRun', { id: one(SERVICES), vips: given() }),
  ];
  return [one(kinds)()].flat();
}

describe('changes one after another say what everything at once says', () => {
  test.each(Array.from({ length: 40 }, (_, seed) => seed))('seed %i', (seed) => {
    const random = new SeededRandom(seed);
    const networks = ['a', 'b', 'ingress'];
    const cluster = new ToldCluster(
      networks.map(newNetwork),
      NODES.flatMap((id) => [...nodeWrites(id), nodeAt(id, '192.168.0.1')]),
      SERVICES.flatMap((id) => serviceWrites(id)),
    );
    const told = NODES.map((id) => cluster.node(id));
    for (let turn = 0; turn < 150; turn += 1) {
      cluster.write(...Array.from({ length: 1 + random.below(4) }, () => change(random, networks)).flat());
      if (random.below(6) === 0) {
        const id = NODES[random.below(NODES.length)] ?? '';
        if (!cluster.down.delete(id)) {
          cluster.down.add(id);
        }
        cluster.index.touchNode(id);
      }
      for (const [index, id] of NODES.entries()) {
        const node = told[index];
        // One may be slow: it takes several changes at once.
        if (node !== undefined && random.below(3) > 0) {
          const before = JSON.stringify(node.known);
          const wasTouched = node.isTouched;
          node.next();
          expect(node.known, `turn ${turn}, ${id}`).toEqual(cluster.node(id, cluster.freshIndex()).known);
          expect(wasTouched || JSON.stringify(node.known) === before).toBe(true);
        }
      }
    }
  });
});
